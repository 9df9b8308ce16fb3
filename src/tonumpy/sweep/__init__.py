"""Checks commits of many repositories, in processes of this machine or of a cluster, into one data set of findings."""
