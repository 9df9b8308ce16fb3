"""What functions, attributes and callers give: runs that are kept."""
