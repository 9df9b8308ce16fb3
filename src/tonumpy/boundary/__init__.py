"""Limits what a repository can make this program do, each in one place: write a file, follow a path, use up time and
memory."""
