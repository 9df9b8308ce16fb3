"""What may be known of a value, how two such descriptions are joined, and the variables that hold them."""
