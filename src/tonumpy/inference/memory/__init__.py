"""Points-to analysis of arrays and tensors that share memory: who writes one while the other is read (TNP201,
TNP202)."""
