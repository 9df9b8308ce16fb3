"""Which memory an array shares with a tensor, and who writes it while the other is read."""
