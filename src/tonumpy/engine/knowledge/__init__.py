"""Tables of what torch, NumPy and other libraries do and promise, and look-ups in them."""
