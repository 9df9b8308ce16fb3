"""Tensors that are taken for values, where nothing raises and something else comes out (TNP206)."""
