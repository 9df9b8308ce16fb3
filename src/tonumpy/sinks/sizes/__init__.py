"""Tensors of one element, which an array takes for an integer as an index, by what their function says of them."""
