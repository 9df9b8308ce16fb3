"""Compiles the cells of a notebook to one code object, at the same rows that a check gives them.

IPython syntax (`%matplotlib inline`, `!pip install x`) is not run: `files = !ls` gives an empty list, and
`get_ipython()` an object whose methods do nothing. `display` prints.
"""

from __future__ import annotations

import ast
import linecache
import os
from contextlib import suppress
from types import CodeType
from typing import Any

from tonumpy.findings import SourceError
from tonumpy.text.sources import source_of


def code_of(data: bytes, path: str, shown: str) -> CodeType:
    """Compile a notebook; SourceError if it or a cell cannot be read or parsed. Code with `await` is a coroutine's.

    `shown` is the path in messages."""
    source = source_of(data, shown)
    tree = source.tree
    for error in source.skipped:
        raise error
    # Tracebacks and other readers of the file's lines must not get its JSON.
    linecache.cache[path] = (len(source.text), None, source.text.splitlines(keepends=True), path)
    code: CodeType = compile(tree, path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


class _Shell:
    """A stand-in for the result of `get_ipython()`: every attribute of it can be called, and does nothing."""

    def __getattr__(self, name: str) -> _Shell:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *arguments: object, **options: object) -> None:
        """Nothing."""


def names_of_ipython() -> dict[str, Any]:
    """The names that IPython adds to the builtins."""
    return {"display": print, "get_ipython": _Shell, "__": []}


def place_in(filename: str, row: int) -> str:
    """A place in words: "learn.ipynb:cell 3:2" of a notebook that can be read, else "learn.py:2"."""
    if filename.endswith(".ipynb"):
        from tonumpy.text.notebooks import Notebook  # start-up

        with suppress(OSError, SourceError), open(filename, "rb") as stream:
            cell, first = Notebook(stream.read(), filename).cell_at(row)
            return f"{os.path.relpath(filename)}:cell {cell}:{row - first + 1}"
    return f"{os.path.relpath(filename)}:{row}"
