"""From a line that puts a tensor on a device, `x.to(device)`, to the line that says which: `device = "cuda"`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.findings import Ground
from tonumpy.text.candidates import is_in_row
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tonumpy.text.candidates import Scope

_MOVES = ("to", "cuda", "xpu", "set_default_device")


def lines_of_devices(grounds: Iterable[Ground], scopes: Sequence[Scope], filename: str) -> list[Ground]:
    """For each line of the file: where the device that is named in it is bound, if that is in one of the scopes."""
    found = []
    for ground in grounds:
        if ground.kind == "code" and ground.filename == filename:
            for path in dict.fromkeys(_devices_in(ground.row, scopes)):
                row = _bound_at(path, ground.row, scopes)
                if row is not None:
                    found.append(Ground("code", "device", "", f"`{path}` is bound here", filename, row))
    return list(dict.fromkeys(found))


def _devices_in(row: int, scopes: Sequence[Scope]) -> Iterator[str]:
    for statement in (each for scope in scopes for each in statements_of(scope.body) if is_in_row(each, row)):
        for node in (node for part in own_expressions(statement) for node in ast.walk(part)):
            if isinstance(node, ast.Call):
                yield from filter(None, map(path_of, _given_as_devices(node)))


def _given_as_devices(call: ast.Call) -> list[ast.expr]:
    moves = isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES
    return [*(call.args[:1] if moves else ()), *(each.value for each in call.keywords if each.arg == "device")]


def _bound_at(path: str, row: int, scopes: Sequence[Scope]) -> int | None:
    """The last assignment before the row in the innermost scope that has one; of an attribute, any in the class."""
    for scope in reversed(scopes):
        bodies = _bodies_that_bind(path, scope)
        rows = [each.lineno for body in bodies for each in statements_of(body) if path in _targets(each)]
        before = [each for each in rows if each < row] or (rows if "." in path else [])
        if before:
            return before[-1]
    return None


def _bodies_that_bind(path: str, scope: Scope) -> list[list[ast.stmt]]:
    """The scope's own body; for the attributes of a class those of its methods."""
    if isinstance(scope, ast.ClassDef) and "." in path:
        return [each.body for each in scope.body if isinstance(each, FUNCTIONS)]
    return [scope.body]


def _targets(statement: ast.stmt) -> list[str | None]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value else targets
    return [path_of(each) for each in targets]
