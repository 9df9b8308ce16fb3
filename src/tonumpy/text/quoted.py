"""Code as a message quotes it: from an expression to its text in backticks, or nothing where that is too long."""

from __future__ import annotations

import ast
from itertools import islice

_MOST_NODES = 40  # ast.unparse recurses
_LONGEST = 50


def quoted(node: ast.expr) -> str | None:
    if len(list(islice(ast.walk(node), _MOST_NODES))) == _MOST_NODES:
        return None
    code = ast.unparse(node)
    return f"`{code}`" if len(code) <= _LONGEST and code.isprintable() and "`" not in code else None
