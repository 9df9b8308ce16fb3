"""The index of a repository: its modules, their names and definitions, and their dependencies; no values."""
