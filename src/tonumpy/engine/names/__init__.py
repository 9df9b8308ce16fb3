"""The index of a repository: files to modules, names, definitions, and their dependencies; no values."""
