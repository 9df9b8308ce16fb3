"""Finds the line that chooses a device, `device = pick()`, for a line that uses it, `x.to(device)`.

The search follows names by syntax alone, through the repository: bindings, attributes of the class and of its bases,
imports, and what a function returns.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tonumpy.engine.names.bindings import Import, bound_names, names_in, parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.findings import Ground
from tonumpy.text.candidates import Scope, is_in_row
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of
from tonumpy.text.tree_paths import path_at

_MOVES = ("to", "cuda", "xpu", "set_default_device")
_MAX_STEPS = 6  # bindings of bindings


class _Place(NamedTuple):
    """A row, with the module and the scopes that it stands in; `left` steps may still be made from there."""

    module: Module
    scopes: Sequence[Scope]
    row: int
    left: int = _MAX_STEPS

    def there(self, module: Module, scopes: Sequence[Scope], row: int) -> _Place:
        return _Place(module, scopes, row, self.left - 1)


class Choice(NamedTuple):
    """The name of a device where a tensor is put on it, empty for an expression, and the lines that lead to its value,
    the last of which chooses."""

    name: str
    lines: tuple[Ground, ...]


def choices_of(grounds: Iterable[Ground], module: Module) -> list[Choice]:
    """The devices that each line of code names."""
    found = []
    for ground in grounds:
        there = _module_of(ground, module) if ground.kind == "code" else None
        if there is not None:
            scopes = [each for each in path_at(there.tree, ground.row) if isinstance(each, (ast.Module, *SCOPES))]
            for node in _devices_in(ground.row, scopes):
                lines = tuple(dict.fromkeys(_lines_behind(node, _Place(there, scopes, ground.row))))
                found.append(Choice(path_of(node) or "", lines))
    return list(dict.fromkeys(found))


def _module_of(ground: Ground, module: Module) -> Module | None:
    if ground.filename == module.filename:
        return module
    return module.project.module_at(os.path.abspath(ground.filename).removesuffix(".py"))


def rows_behind(node: ast.AST, scopes: Sequence[Scope]) -> Iterator[int]:
    """The rows before a node in its function that bind or move what it reads, and so on, the last one first."""
    names, row = names_in(node), getattr(node, "lineno", 0)
    for statement in reversed(list(statements_of(scopes[-1].body))):
        bound = set(_names_bound_or_moved(statement))
        if statement.lineno < row and not names.isdisjoint(bound):
            yield statement.lineno
            names |= names_in(statement)


def _names_bound_or_moved(statement: ast.stmt) -> Iterator[str]:
    """The names of `x = ...`, `x, y = ...`, `for x in ...` and `x.to(device)`."""
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


def _lines_behind(node: ast.expr, at: _Place) -> Iterator[Ground]:
    """The lines that bind what an expression reads, one after the other."""
    if not at.left:
        return
    if isinstance(node, ast.Call):
        yield from _lines_of_call(node, at)
        return
    path = path_of(node)
    found = _bound(path, at) if path else None
    if path is None or found is None:
        return
    statement, there = found
    if isinstance(statement, FUNCTIONS):  # a property
        yield from _lines_of_function(statement, there)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        yield _line(f"`{path}` is bound here", there)
        yield from _lines_behind(statement.value, there)


def _lines_of_call(call: ast.Call, at: _Place) -> Iterator[Ground]:
    """The lines of a function's result, else of its arguments: `torch.device(name)`."""
    path = path_of(call.func)
    found = _bound(path, at) if path else None
    if found is not None and isinstance(found[0], FUNCTIONS):
        yield from _lines_of_function(found[0], found[1])
    elif call.args:
        yield from _lines_behind(call.args[0], at)


def _lines_of_function(function: ast.FunctionDef | ast.AsyncFunctionDef, at: _Place) -> Iterator[Ground]:
    """Its only return and the lines behind that; where there are several, the function itself."""
    returned = [each for each in statements_of(function.body) if isinstance(each, ast.Return) and each.value]
    row = returned[0].lineno if len(returned) == 1 else function.lineno
    there = at.there(at.module, (*at.scopes, function), row)
    yield _line(f"`{function.name}` {'returns it here' if len(returned) == 1 else 'chooses it'}", there)
    if len(returned) == 1 and returned[0].value is not None:
        yield from _lines_behind(returned[0].value, there)


def _line(message: str, at: _Place) -> Ground:
    return Ground("code", "device", "", message, at.module.filename, at.row)


def _bound(path: str, at: _Place) -> tuple[ast.stmt, _Place] | None:
    """The statement that binds a path for who reads it in a place: the last one before that in the innermost scope that
    has one."""
    for depth in range(len(at.scopes), 0, -1):
        scope, scopes = at.scopes[depth - 1], at.scopes[:depth]
        if isinstance(scope, ast.ClassDef) and path.startswith("self."):
            return _bound_in_class(path, scope, at.there(at.module, scopes, scope.lineno))
        if isinstance(scope, FUNCTIONS) and path in parameter_names(scope.args):
            return None
        among = [each for each in statements_of(scope.body) if path in _targets(each)]
        before = [each for each in among if each.lineno < at.row] or (among if isinstance(scope, ast.Module) else [])
        if before:
            return before[-1], at.there(at.module, scopes, before[-1].lineno)
    return _bound_in_module(path, at)


def _bound_in_class(path: str, node: ast.ClassDef, at: _Place) -> tuple[ast.stmt, _Place] | None:
    """The statement that binds an attribute in a method of the class or of its bases, or its property."""
    for each in node.body:
        if isinstance(each, FUNCTIONS):
            if each.name == path.removeprefix("self."):
                return each, at.there(at.module, at.scopes, each.lineno)
            for statement in statements_of(each.body):
                if path in _targets(statement):
                    return statement, at.there(at.module, (*at.scopes, each), statement.lineno)
    for base in filter(None, map(path_of, node.bases)) if at.left else ():
        found = _bound_in_module(base, at)
        if found is not None and isinstance(found[0], ast.ClassDef):
            within = _bound_in_class(path, found[0], found[1]._replace(scopes=(*found[1].scopes, found[0])))
            if within is not None:
                return within
    return None


def _bound_in_module(path: str, at: _Place) -> tuple[ast.stmt, _Place] | None:
    """The statement that binds `name`, or `name` of a `module.name`, here or where it is imported from."""
    if not at.left:
        return None
    name, _, rest = path.partition(".")
    imported = at.module.names.imports_in_functions.get(name)
    bindings = at.module.names.bindings.get(name) or ([imported] if imported else [])
    if not bindings:
        return None
    binding = bindings[-1]
    if not isinstance(binding, Import):
        return None if rest else (binding, at.there(at.module, (at.module.tree,), binding.lineno))
    if binding.binds_root:
        return None
    holder, names = at.module.resolve(binding), [*filter(None, (binding.name,)), *filter(None, (rest,))]
    if holder is not None and len(names) > 1:
        holder = holder.submodule(names.pop(0))
    return None if holder is None or not names else _bound_in_module(names[0], at.there(holder, (holder.tree,), 0))


def _targets(statement: ast.stmt) -> list[str | None]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value else targets
    return [path_of(each) for each in targets]
