"""A file: its bytes, text and syntax tree, and the calls in it that may convert a tensor. No inference."""
