"""What stands in the files of a repository: modules, names, definitions and how they depend on each other."""
