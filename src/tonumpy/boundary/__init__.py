"""Limits what a repository may make this program do, each in one place: write a file, follow a path, spend time and
memory."""
