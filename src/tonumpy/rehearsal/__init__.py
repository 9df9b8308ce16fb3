"""Runs the user's own program on a stand-in accelerator and tells of each conversion to NumPy that would have failed.

The only part of tonumpy that runs what it reads, and the only one that imports torch: the user's own.
"""
