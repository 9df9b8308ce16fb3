"""The plugins for flake8, LibCST, pytest and editors."""
