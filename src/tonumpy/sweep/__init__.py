"""Checks many repositories at commits; processes of this machine or of a cluster make one data set of the findings."""
