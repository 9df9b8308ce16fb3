"""What calls tonumpy from other programs: flake8, LibCST, pytest and editors."""
