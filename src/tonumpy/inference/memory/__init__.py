"""Points-to analysis of arrays and tensors in one memory (TNP201, TNP202): who writes one that is read as the other."""
