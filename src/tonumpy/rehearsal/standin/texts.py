"""The name of a file of the program -> its syntax tree, where it can be read."""

from __future__ import annotations

import ast
import linecache

MAX_BYTES = 2_000_000  # of one file


def tree_of(filename: str) -> ast.Module | None:
    try:
        if filename.endswith(".ipynb"):  # what the cells hold, put there where they were compiled
            return ast.parse("".join(linecache.getlines(filename)))
        with open(filename, "rb") as stream:
            text = stream.read(MAX_BYTES + 1)
        return ast.parse(text) if len(text) <= MAX_BYTES else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
