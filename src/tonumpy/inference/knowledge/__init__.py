"""What torch and other libraries do and promise: tables, and the look-ups in them."""
