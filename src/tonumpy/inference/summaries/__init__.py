"""What calling a function, reading an attribute or importing a module gives, worked out once and kept."""
