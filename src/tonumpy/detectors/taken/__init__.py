"""Tensors that are compared or looked up by identity instead of their values, without an error (TNP206)."""
