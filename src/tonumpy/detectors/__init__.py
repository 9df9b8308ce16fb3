"""Where each rule looks, and what it makes of what the run has seen there."""
