"""Sinks: functions of other libraries that convert their arguments; from a file to the calls of them that may raise."""
