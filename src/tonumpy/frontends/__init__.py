"""The command and the flake8 plugin, with the files and processes that they need."""
