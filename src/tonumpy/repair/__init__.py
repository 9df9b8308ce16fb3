"""Turns the verdict of a rule into edits, and these into a text that is verified before it is written."""
