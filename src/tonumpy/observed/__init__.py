"""What a run has seen of conversions, put to the places in the source: for a rehearsal's report, and as evidence."""
