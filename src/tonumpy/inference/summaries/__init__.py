"""Summaries: what a call, an attribute or a module variable gives, as a value of the lattice; each computed once."""
