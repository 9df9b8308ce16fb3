"""Finds the line that chooses a device, `device = pick()`, for a line that uses it, `x.to(device)`, and names it in
findings.

The search follows names by syntax alone, within one module: through bindings, attributes of the class, and `return`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tonumpy.conversions import Conversion
from tonumpy.engine.names.bindings import bound_names, names_in, parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.findings import Finding, Ground
from tonumpy.judgements import Judgement
from tonumpy.phrases import CHOSEN
from tonumpy.text.candidates import Scope, is_in_row
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of
from tonumpy.text.tree_paths import path_at

_MOVES = ("to", "cuda", "xpu", "set_default_device")
_MAX_ROWS = 30  # searched before one conversion, the nearest first
_MAX_STEPS = 6  # followed from binding to binding


class Choice(NamedTuple):
    """A device where a tensor is moved to it: its name, empty for an expression, and the lines that lead to its value,
    the last of which chooses."""

    name: str
    lines: tuple[Ground, ...]


def choices_of(grounds: Iterable[Ground], module: Module) -> list[Choice]:
    """The unique choices of the devices that the grounds' lines of code name."""
    found = []
    for ground in grounds:
        there = _module_of(ground, module) if ground.kind == "code" else None
        if there is not None:
            scopes = [each for each in path_at(there.tree, ground.row) if isinstance(each, (ast.Module, *SCOPES))]
            for node in _devices_in(ground.row, scopes):
                lines = tuple(dict.fromkeys(_lines_behind(node, scopes, ground.row, ground.filename)))
                found.append(Choice(path_of(node) or "", lines))
    return list(dict.fromkeys(found))


def _module_of(ground: Ground, module: Module) -> Module | None:
    if ground.filename == module.filename:
        return module
    return module.project.module_at(os.path.abspath(ground.filename).removesuffix(".py"))


def rows_behind(node: ast.AST, scopes: Sequence[Scope]) -> Iterator[int]:
    """Yield the rows before a node, in its function, that transitively bind or move the names it reads, last first."""
    names, row = names_in(node), getattr(node, "lineno", 0)
    for statement in reversed(list(statements_of(scopes[-1].body))):
        bound = set(_names_bound_or_moved(statement))
        if statement.lineno < row and not names.isdisjoint(bound):
            yield statement.lineno
            names |= names_in(statement)


def _names_bound_or_moved(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds (`x, y = ...`, `for x in ...`) or moves (`x.to(device)`)."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from bound_names(statement.value.func)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    for target in targets:
        if isinstance(target, ast.expr):
            yield from bound_names(target)


def _devices_in(row: int, scopes: Sequence[Scope]) -> Iterator[ast.expr]:
    for statement in (each for each in statements_of(scopes[-1].body) if is_in_row(each, row)):
        for node in (node for part in own_expressions(statement) for node in ast.walk(part)):
            if isinstance(node, ast.Call):
                yield from (each for each in _given_as_devices(node) if not isinstance(each, ast.Constant))


def _given_as_devices(call: ast.Call) -> list[ast.expr]:
    moves = isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES
    return [*(call.args[:1] if moves else ()), *(each.value for each in call.keywords if each.arg == "device")]


def _lines_behind(
    node: ast.expr, scopes: Sequence[Scope], row: int, filename: str, left: int = _MAX_STEPS
) -> Iterator[Ground]:
    """Yield the lines that bind an expression as read in a row, following each binding to the next; `left` counts the
    steps still allowed."""
    path = path_of(node.func if isinstance(node, ast.Call) else node)
    statement, holders = _bound(path, scopes, row) if path and left else (None, scopes)
    if isinstance(statement, FUNCTIONS):  # that is called, or a property
        returned = [each for each in statements_of(statement.body) if isinstance(each, ast.Return) and each.value]
        if len(returned) != 1:
            yield _line(f"`{statement.name}` chooses it", filename, statement.lineno)
            return
        yield _line(f"`{statement.name}` returns it here", filename, returned[0].lineno)
        value, holders, row = returned[0].value, (*holders, statement), returned[0].lineno
    elif isinstance(node, ast.Call):  # `torch.device(name)`
        value, holders = node.args[0] if node.args else None, scopes
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        yield _line(f"`{path}` is bound here", filename, statement.lineno)
        value, row = statement.value, statement.lineno
    else:
        return
    if value is not None and left:
        yield from _lines_behind(value, holders, row, filename, left - 1)


def _line(message: str, filename: str, row: int) -> Ground:
    return Ground("code", "device", "", message, filename, row)


def _bound(path: str, scopes: Sequence[Scope], row: int) -> tuple[ast.stmt | None, Sequence[Scope]]:
    """The statement that binds a path for a read in a row, and its scopes: the last before the row in the innermost
    scope that binds it; for an attribute of `self`, a method or a binding in a method."""
    for depth in range(len(scopes), 0, -1):
        scope, around = scopes[depth - 1], scopes[:depth]
        if isinstance(scope, ast.ClassDef):
            for statement, inside in _bound_by_methods(path, scope):
                return statement, (*around, *inside)
            continue
        if isinstance(scope, FUNCTIONS) and path in parameter_names(scope.args):
            break
        among = [each for each in statements_of(scope.body) if path in _targets(each)]
        before = [each for each in among if each.lineno < row] or (among if isinstance(scope, ast.Module) else [])
        if before:
            return before[-1], around
    return None, scopes


def _bound_by_methods(path: str, owner: ast.ClassDef) -> Iterator[tuple[ast.stmt, Sequence[Scope]]]:
    """Yield the method or property `x` of `self.x`, and its bindings in methods, each with its scopes in the class."""
    for method in (each for each in owner.body if isinstance(each, FUNCTIONS) and path.startswith("self.")):
        if method.name == path.removeprefix("self."):
            yield method, ()
        yield from ((each, (method,)) for each in statements_of(method.body) if path in _targets(each))


def _targets(statement: ast.stmt) -> list[str | None]:
    """The paths that an assignment binds, or the name that a `def` binds."""
    if isinstance(statement, FUNCTIONS):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value else targets
    return [path_of(each) for each in targets]


def with_device_lines(judgements: list[Judgement], module: Module) -> list[Judgement]:
    """The judgements; those about a device chosen at run time get the line that chooses it."""
    told = []
    for each in judgements:
        is_of_choice = each.conversion is not None and CHOSEN in each.finding.message
        choice = _choice(each.conversion, module) if is_of_choice and each.conversion is not None else None
        told.append(each if choice is None else each._replace(finding=_named(each.finding, choice)))
    return told


def _choice(conversion: Conversion, module: Module) -> Choice | None:
    """The first choice found in the lines behind the converted value; with the moving line itself if none chooses."""
    site = conversion.site
    for row in (site.call.lineno, *islice(rows_behind(site.call, site.scopes), _MAX_ROWS)):
        moved = Ground("code", "device", "", "is put on the device here", module.filename, row)
        for choice in choices_of([moved], module):
            return choice if choice.lines else choice._replace(lines=(moved,))
    return None


def _named(finding: Finding, choice: Choice) -> Finding:
    line = choice.lines[-1]
    is_here = line.filename == finding.filename
    place = f"line {line.row}" if is_here else f"{os.path.basename(line.filename)}:{line.row}"
    place = "" if is_here and line.row == finding.start.row else place
    name = f"`{choice.name}`" if choice.name else ""
    told = ", ".join(filter(None, (name, place)))
    message = finding.message.replace(CHOSEN, f"{CHOSEN} ({told})" if told else CHOSEN, 1)
    words = f"on {name or 'a device'} ({f'{place}, ' if place else ''}maybe a GPU)"
    brief = finding.brief.replace(CHOSEN, words, 1)
    return finding._replace(
        message=message, brief=brief, evidence=(*finding.evidence, line) if place else finding.evidence
    )
