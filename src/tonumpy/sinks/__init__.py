"""Functions of other libraries that convert the tensors they are given: which they are, and calls of them in a file."""
