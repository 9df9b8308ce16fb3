"""Keeps what was found in a file, for as long as nothing that it was found by has changed."""
