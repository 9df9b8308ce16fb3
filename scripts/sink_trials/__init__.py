"""Tries the public callables of other libraries with tensors: what scripts/measure_sinks.py writes down."""
