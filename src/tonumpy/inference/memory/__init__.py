"""Points-to analysis of arrays and tensors that share memory (TNP201, TNP202): who writes one while the other is
read."""
