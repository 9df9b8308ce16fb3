"""What people who write torch code mostly mean by a name or a place. No proof."""
