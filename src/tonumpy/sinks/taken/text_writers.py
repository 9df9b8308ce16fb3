"""Whether a call writes JSON with a function that makes text of the unknown: `json.dump(x, file, default=str)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.text.candidates import Scope

NAMES = ("dump", "dumps")
# How the table calls such functions.
ENDING = "(default=str)"
_MAKERS_OF_TEXT = ("str", "repr")


def writes_text(call: ast.Call, module: Scope) -> bool:
    """By what it is given as `default` or as encoder (`cls`): by name, or in the text of the module."""
    given = {each.arg: each.value for each in call.keywords}
    if (default := given.get("default")) is not None:
        return _makes_text(default, module.body)
    encoder = given.get("cls")
    return isinstance(encoder, ast.Name) and any(
        _makes_text(ast.Name("default"), each.body)
        for each in module.body
        if isinstance(each, ast.ClassDef) and each.name == encoder.id
    )


def _makes_text(function: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """`str`, or a function that gives nothing but `str(x)` of what it is given."""
    if isinstance(function, ast.Lambda):
        return _is_text_of(function.body, function.args)
    if not isinstance(function, ast.Name):
        return False
    own = next((each for each in body if isinstance(each, FUNCTIONS) and each.name == function.id), None)
    if own is None:
        return function.id in _MAKERS_OF_TEXT
    first, *others = own.body[1:] if ast.get_docstring(own) is not None else own.body
    return isinstance(first, ast.Return) and not others and _is_text_of(first.value, own.args)


def _is_text_of(node: ast.expr | None, parameters: ast.arguments) -> bool:
    given = {each.arg for each in parameters.args}
    if not isinstance(node, ast.Call) or last_name(node.func) not in _MAKERS_OF_TEXT or len(node.args) != 1:
        return False
    return isinstance(node.args[0], ast.Name) and node.args[0].id in given
