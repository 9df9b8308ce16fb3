"""Tells calls that write JSON with a function that makes text of the unknown: `json.dump(x, file, default=str)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from tonumpy.text.candidates import Scope

NAMES = ("dump", "dumps")
# How the table calls such functions.
ENDING = "(default=str)"


def writes_text(call: ast.Call, module: Scope) -> bool:
    """By what it is given as `default` or as encoder (`cls`): by name, or in the text of the module."""
    given = {each.arg: each.value for each in call.keywords}
    if (default := given.get("default")) is not None:
        return _makes_text(default, module.body)
    match given.get("cls"):
        case ast.Name(name):
            classes = [each for each in module.body if isinstance(each, ast.ClassDef) and each.name == name]
            return any(_makes_text(ast.Name("default"), each.body) for each in classes)
    return False


def _makes_text(function: ast.expr, body: list[ast.stmt]) -> bool:
    """`str`, or a function that gives nothing but `str(x)` of what it is given."""
    if isinstance(function, ast.Lambda):
        return _is_text_of(function.body, function.args)
    name = function.id if isinstance(function, ast.Name) else ""
    own = next((each for each in body if isinstance(each, FUNCTIONS) and each.name == name), None)
    if own is None:
        return name in ("str", "repr")
    match own.body[1:] if ast.get_docstring(own) is not None else own.body:
        case [ast.Return(value)]:
            return _is_text_of(value, own.args)
    return False


def _is_text_of(node: ast.expr | None, parameters: ast.arguments) -> bool:
    match node:
        case ast.Call(ast.Name("str" | "repr") | ast.Attribute(attr="str" | "repr"), [ast.Name(name)]):
            return name in {each.arg for each in parameters.args}
    return False
