"""The parts that other programs load: flake8, LibCST, pytest and editors."""
