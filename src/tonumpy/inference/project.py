"""File names in; the modules of the same repository out."""

from __future__ import annotations


class Project:
    """The modules that have been read so far; one object serves all files of a run."""
