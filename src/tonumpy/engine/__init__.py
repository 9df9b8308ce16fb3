"""Works out what each value is, by running bodies forwards: names, values, knowledge, the interpreter and summaries."""
