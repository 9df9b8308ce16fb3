"""Maps the events of a run to places in the source, for a rehearsal's report and as evidence for later checks.

Runs nothing and needs no torch; rehearsal/ makes the run.
"""
