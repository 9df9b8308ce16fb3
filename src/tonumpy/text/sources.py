"""Makes the Source of a file from its name and its bytes or text: that of a module or of a notebook."""

from __future__ import annotations

from tonumpy.text.source import Source


def source_of(data: bytes | str, filename: str) -> Source:
    """SourceError where a module cannot be decoded, or a notebook not be read."""
    if filename.endswith(".ipynb"):
        from tonumpy.text.notebooks import Notebook  # start-up: json

        if isinstance(data, str):
            return Notebook.from_document(data, filename)
        return Notebook(data, filename)
    if isinstance(data, str):
        return Source.from_text(data, filename)
    return Source(data, filename)
