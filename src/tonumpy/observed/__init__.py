"""Reads what a run has seen, and puts it to places in the source: for a rehearsal's report, and as evidence.

Runs nothing and needs no torch; rehearsal/ makes the run.
"""
