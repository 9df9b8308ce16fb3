"""Keeps runs: what functions, attributes and callers give."""
