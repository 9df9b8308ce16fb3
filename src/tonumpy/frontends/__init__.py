"""The former place of the flake8 and pytest plugins: gone once every environment is installed again."""
