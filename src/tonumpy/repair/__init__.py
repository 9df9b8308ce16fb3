"""Turns a rule's repair into edits, and these into a new text, which is verified before it is written."""
