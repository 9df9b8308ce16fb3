"""From a method of a list that is handed out, as `rows.append` is in `run(rows.append)`, to the calls of it.

By syntax and by names, within one file: along variables that are bound once, parameters, attributes of `self` and loops
over several such methods. What is not found here may call it all the same.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import defaults_of, parameter_names, parameters_of, read_name
from tonumpy.engine.names.syntax_lowering import stored_in, stores_of
from tonumpy.text.candidates import find_operations
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tonumpy.text.candidates import OperationSite, Scope
    from tonumpy.text.source import Source

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_METHODS = ("append", "appendleft", "extend", "add")
_NOT_CALLED = rf"\.(?:{'|'.join(_METHODS)})\b(?!\s*[(.])"
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.For, ast.AsyncFor, *FUNCTIONS)
_MAX_METHODS = 32  # of one file; of more, none is followed
_MAX_HOLDERS = 12  # names and attributes that one method goes through
_MAX_CALLS = 12  # of it


class Call(NamedTuple):
    """One call of a method, or of `map` that is given it and calls it with each item."""

    node: ast.Call
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    is_map: bool

    @property
    def given(self) -> ast.expr:
        return self.node.args[self.is_map]


class Handed(NamedTuple):
    """A method that is handed out, with the calls of it in sight."""

    method: ast.Attribute
    scopes: tuple[Scope, ...]
    calls: tuple[Call, ...]

    @property
    def filled(self) -> str:
        """The path of the list."""
        return path_of(self.method.value) or ""

    def gives_many(self, call: Call) -> bool:
        """Whether the items of what a call is given are put in, and not that itself."""
        return call.is_map or self.method.attr == "extend"


class _Holder(NamedTuple):
    """A variable of a function or module, or an attribute of the objects of a class, that holds the method."""

    name: str
    scope: Scope


def handed_methods(source: Source) -> list[Handed]:
    """Those of a file, in the order of the text."""
    rows = source.rows_matching(_NOT_CALLED)
    called: set[int] = set()

    def is_handed_out(node: ast.Call | ast.Attribute) -> bool:
        if isinstance(node, ast.Call):
            called.add(id(node.func))
            return False
        is_read = isinstance(node.ctx, ast.Load) and id(node) not in called
        return is_read and node.attr in _METHODS and path_of(node.value) is not None

    sites = find_operations(source, rows, (ast.Call, ast.Attribute), is_handed_out)
    if len(sites) > _MAX_METHODS:
        return []
    return [_followed(source, site.node, site.scopes) for site in sites if isinstance(site.node, ast.Attribute)]


def _followed(source: Source, method: ast.Attribute, scopes: tuple[Scope, ...]) -> Handed:
    calls: list[Call] = []
    holders: list[_Holder] = []

    def follow(rows: list[int], scope: Scope, is_it: Callable[[ast.expr], bool], name: str = "") -> None:
        for site in _sites(source, rows, is_it):
            if scope not in site.scopes or name in _parameters_between(scope, site.scopes):
                continue
            if isinstance(site.node, ast.Call):
                calls.extend(_calls_in(site, site.node, is_it))
            holders.extend(each for each in _holders_in(source, site, is_it) if each not in holders)

    follow([method.lineno], scopes[0], lambda node: node is method)
    for at, holder in enumerate(holders):  # which grow meanwhile
        if at == _MAX_HOLDERS or len(calls) > _MAX_CALLS:
            return Handed(method, scopes, ())
        is_it = _is_read_as(holder.name)
        if _is_bound_again(holder, is_it):
            return Handed(method, scopes, ())
        rows = source.rows_with_name(holder.name.rpartition(".")[2])
        follow(rows, holder.scope, is_it, holder.name)
    return Handed(method, scopes, tuple(calls))


def _parameters_between(scope: Scope, scopes: tuple[Scope, ...]) -> frozenset[str]:
    """Those of the functions within a scope, whose variables have other values."""
    return frozenset[str]().union(*map(parameters_of, scopes[scopes.index(scope) + 1 :]))


def _is_read_as(name: str) -> Callable[[ast.expr], bool]:
    return lambda node: read_name(node) == name


def _sites(source: Source, rows: list[int], is_it: Callable[[ast.expr], bool]) -> list[OperationSite]:
    """The calls of it, those that are given it, and the statements that keep it."""

    def is_meant(node: ast.Call | ast.stmt) -> bool:
        if isinstance(node, ast.Call):
            return is_it(node.func) or any(_is_among(given, is_it) for _, given in _arguments(node))
        if isinstance(node, FUNCTIONS):
            return any(_is_among(default, is_it) for _, default in defaults_of(node.args))
        return any(store.value is not None and _is_among(store.value, is_it) for store in stores_of(node))

    return find_operations(source, sorted({*rows}), (ast.Call, *_STATEMENTS), is_meant)


def _is_among(node: ast.expr, is_it: Callable[[ast.expr], bool]) -> bool:
    """Whether an expression is it, may be it, or is a list of such: `report or print`, `[rows.append]`."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_is_among(each, is_it) for each in node.elts)
    if isinstance(node, ast.BoolOp):
        return any(_is_among(each, is_it) for each in node.values)
    if isinstance(node, ast.IfExp):
        return _is_among(node.body, is_it) or _is_among(node.orelse, is_it)
    return is_it(node)


def _arguments(call: ast.Call) -> Iterator[tuple[int | str | None, ast.expr]]:
    yield from enumerate(call.args)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords)


def _calls_in(site: OperationSite, call: ast.Call, is_it: Callable[[ast.expr], bool]) -> Iterator[Call]:
    if is_it(call.func) and len(call.args) == 1 and not call.keywords:
        yield Call(call, site.scopes, site.statement, is_map=False)
    elif last_name(call.func) == "map" and len(call.args) == 2 and is_it(call.args[0]):
        yield Call(call, site.scopes, site.statement, is_map=True)


def _holders_in(source: Source, site: OperationSite, is_it: Callable[[ast.expr], bool]) -> Iterator[_Holder]:
    call, statement = site.node, site.statement
    if isinstance(call, ast.Call):
        for place, given in _arguments(call):
            if place is not None and _is_among(given, is_it):
                yield from _parameters(source, call, place)
    elif isinstance(statement, FUNCTIONS):
        defaults = defaults_of(statement.args)
        yield from (_Holder(name, statement) for name, default in defaults if _is_among(default, is_it))
    else:
        for store in stores_of(statement):
            name = read_name(store.target)
            if name is not None and store.value is not None and _is_among(store.value, is_it):
                scope = _class_of(site.scopes) if isinstance(store.target, ast.Attribute) else site.scopes[-1]
                yield from () if scope is None else (_Holder(name, scope),)


def _class_of(scopes: tuple[Scope, ...]) -> Scope | None:
    return next((each for each in reversed(scopes) if isinstance(each, ast.ClassDef)), None)


def _parameters(source: Source, call: ast.Call, place: int | str) -> Iterator[_Holder]:
    """What a call of a function, a method or a class of the file gives its argument to, by its name."""
    name = last_name(call.func)
    if name is None:
        return
    rows = source.rows_with_name(name)
    found = find_operations(source, rows, (ast.ClassDef, *FUNCTIONS), lambda each: each.name == name)
    for site in found:
        function: ast.AST | None = site.node
        is_method = isinstance(site.scopes[-1], ast.ClassDef)
        if isinstance(function, ast.ClassDef):
            is_method = True
            methods = (each for each in function.body if isinstance(each, FUNCTIONS))
            function = next((each for each in methods if each.name == "__init__"), None)
        elif is_method != isinstance(call.func, ast.Attribute):
            continue
        if isinstance(function, FUNCTIONS):
            names = parameter_names(function.args)
            if isinstance(place, int):
                at = place + (is_method and names[:1] in (["self"], ["cls"]))
                names = names[at : at + 1]
            elif place not in names:
                continue
            else:
                names = [place]
            yield from (_Holder(each, function) for each in names)


def _is_bound_again(holder: _Holder, is_it: Callable[[ast.expr], bool]) -> bool:
    """Whether a variable is given something else as well."""
    if "." in holder.name:
        return False
    values = stored_in(holder.scope.body, holder.name)
    is_parameter = isinstance(holder.scope, FUNCTIONS) and holder.name in parameter_names(holder.scope.args)
    return sum(value is None or not _is_among(value, is_it) for value in values) > (not is_parameter)
