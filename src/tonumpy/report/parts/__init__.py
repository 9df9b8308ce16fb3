"""Parts shared by several formats; contains no format itself."""
