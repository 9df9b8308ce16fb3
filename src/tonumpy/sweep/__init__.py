"""Many repositories at commits in; one data set of findings out, made by processes of this machine or of a cluster."""
