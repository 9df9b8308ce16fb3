"""What several formats are made of; no format itself."""
