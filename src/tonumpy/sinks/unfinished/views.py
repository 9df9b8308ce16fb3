"""From `view = host.numpy()` to whether something waits before the array is read: to make one reads no values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.sinks.unfinished.stream_words import waits
from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_waited_for(statement: ast.stmt, following: Iterable[ast.stmt]) -> bool:
    """Whether the statements that follow in a block wait, before one of them names what an array is given to."""
    name = _array_made(statement)
    if name is None:
        return False
    for each in following:
        if any(isinstance(node, ast.Name) and node.id == name for node in walk(each)):
            return False
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and waits(last_name(call.func) or ""):
            return True
    return False


def _array_made(statement: ast.stmt) -> str | None:
    """`view` of `view = host.numpy()`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, call = statement.targets[0], statement.value
    is_made = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "numpy"
    return target.id if isinstance(target, ast.Name) and is_made and not call.keywords else None  # type: ignore[attr-defined]
