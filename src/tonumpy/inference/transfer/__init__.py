"""The transfer functions: what each construct of the language does to what is known."""
