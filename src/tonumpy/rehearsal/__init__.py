"""Runs the user's program on a stand-in accelerator and reports each conversion to NumPy that would have failed.

This is the only part of tonumpy that runs the code it reads, and the only one that imports torch (the user's own).
"""
