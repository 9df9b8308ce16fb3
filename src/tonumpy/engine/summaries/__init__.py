"""Summaries: cached results of functions and attributes, and entries from callers."""
