"""Detectors: the sites of each rule, and the judgement of the observations there."""
