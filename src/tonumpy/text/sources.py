"""Makes the Source of a module or a notebook from its name and its bytes or text."""

from __future__ import annotations

from tonumpy.text.source import Source


def source_of(data: bytes | str, filename: str) -> Source:
    """The source of a file; SourceError if a module cannot be decoded, or a notebook cannot be read."""
    if filename.endswith(".ipynb"):
        from tonumpy.text.notebooks import Notebook  # start-up: json

        if isinstance(data, str):
            return Notebook.from_document(data, filename)
        return Notebook(data, filename)
    if isinstance(data, str):
        return Source.from_text(data, filename)
    return Source(data, filename)
