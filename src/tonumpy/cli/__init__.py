"""The command line: arguments, files, streams, baseline, watch, result cache."""
