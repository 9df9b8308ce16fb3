"""The lattice: values, their join and widening, evidence for facts, and the abstract state of names."""
