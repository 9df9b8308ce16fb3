"""Reads a file: its bytes, text, syntax tree, and the calls in it that may convert a tensor. No inference."""
