"""Reductions along one dimension: `x.argmax(1)` gives a tensor of several numbers, `x.argmax()` one."""

import ast
from collections.abc import Sequence

from tonumpy.text.names import last_name
from tonumpy.text.syntax import statements_of

_REDUCTIONS = frozenset(
    "argmax argmin max min amax amin sum mean median mode prod std var all any norm logsumexp nansum nanmean"
    " count_nonzero cumsum".split()
)


def has_several(node: ast.expr, scopes: Sequence[ast.AST]) -> bool:
    """True if an expression, or the one that its name was last bound to, reduces along one dimension."""
    if isinstance(node, ast.Name):
        values = [
            each.value
            for each in statements_of(getattr(scopes[-1], "body", []))
            if isinstance(each, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in each.targets)
        ]
        return bool(values) and all(has_several(each, ()) for each in values if not isinstance(each, ast.Name))
    if isinstance(node, ast.Attribute) and node.attr in ("values", "indices"):  # of `x.max(1)`
        return has_several(node.value, scopes)
    if isinstance(node, ast.Subscript):
        return False
    if not isinstance(node, ast.Call) or last_name(node.func) not in _REDUCTIONS:
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = len(node.args) - (last_name(owner) == "torch" if owner is not None else 0)
    return given > 0 or any(each.arg in ("dim", "axis") for each in node.keywords)
