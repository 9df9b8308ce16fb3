"""Runs statements and expressions forwards over an environment."""
