"""A notebook -> the code of its cells, one behind the other, at the rows that a check gives them.

What only IPython understands (`%matplotlib inline`, `!pip install x`) is not run, and `display` prints.
"""

from __future__ import annotations

import ast
import linecache

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from types import CodeType

SUFFIX = ".ipynb"


def code_of(data: bytes, path: str, shown: str) -> CodeType:
    """SourceError where it cannot be read, or has a cell that cannot be parsed; code with `await` is a coroutine's.

    `shown` is the path in messages."""
    source = source_of(data, shown)
    tree = source.tree
    for error in source.skipped:
        raise error
    # Tracebacks, and whoever else wants a line of the file, are not to find JSON there.
    linecache.cache[path] = (len(source.text), None, source.text.splitlines(keepends=True), path)
    code: CodeType = compile(tree, path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code
