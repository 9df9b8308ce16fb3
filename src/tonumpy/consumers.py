"""A source in; the calls of other libraries' functions that convert the tensors they are given out.

consumers.json says which these are: it is measured on the libraries themselves by scripts/measure_consumers.py. `Axes`
and `Estimator` stand there for the objects that Matplotlib's and scikit-learn's functions give.
"""

from __future__ import annotations

import ast
import json
import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.candidates import find_calls
from tonumpy.inference.symbols import flow_of_node, imports_of, names_in, own_expressions, statements_of
from tonumpy.source import TROUBLE

if TYPE_CHECKING:
    from tonumpy.candidates import Site
    from tonumpy.source import Source

_OBJECTS = {"matplotlib": "Axes", "sklearn": "Estimator"}


class Parameter(NamedTuple):
    """`name` is None where it is given by position only, `position` where by name only; -1 stands for all positions.

    `takes` says what is converted there: "tensor", or "items" for a list of tensors.
    """

    name: str | None
    position: int | None
    takes: frozenset[str]


class Consumer(NamedTuple):
    """A function, with the parameters that convert; `keeps_value`: it gives of arrays what it gives of tensors."""

    parameters: tuple[Parameter, ...]
    keeps_value: bool


class Argument(NamedTuple):
    """What a call gives for a parameter that converts; `position` and `name` say where among its arguments."""

    node: ast.expr
    position: int | None
    name: str | None
    takes: frozenset[str]


@cache
def consumers() -> dict[str, Consumer]:
    path = os.path.join(os.path.dirname(__file__), "inference", "consumers.json")
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    return {
        name: Consumer(
            tuple(Parameter(known, position, frozenset(takes)) for known, position, takes in entry["converts"]),
            entry["same"],
        )
        for name, entry in table.items()
    }


@cache
def _names_of(root: str) -> frozenset[str]:
    """The last parts of the names of a library's consumers, or of the objects that it gives."""
    return frozenset(name.rpartition(".")[2] for name in consumers() if name.partition(".")[0] == root)


def consumer_of(library: str, name: str) -> Consumer | None:
    """The function `name` of a module or, by the name of what made it, of an object: `matplotlib.pyplot.subplots`."""
    found = consumers().get(f"{library}.{name}")
    if found is None:
        found = consumers().get(f"{_OBJECTS.get(library.partition('.')[0])}.{name}")
    return found


def find_consumers(source: Source) -> list[Site]:
    """The calls that may be of a consumer, by their spelling, and have an argument that may be a tensor.

    Only those in a function or class whose own text says something of grad or of devices: to work out the others costs
    as much as all the rest of a run, and what would be found is next to nothing.
    """
    names = _imported(source.tree)
    if not names:
        return []
    methods = frozenset(
        method for root, kind in _OBJECTS.items() if root in {*names.values()} for method in _names_of(kind)
    )

    def is_wanted(call: ast.Call) -> bool:
        return _is_named(call.func, names, methods) and any(
            _may_be_a_tensor(argument, names) for argument in (*call.args, *(each.value for each in call.keywords))
        )

    sites = find_calls(source, _rows(source, names, methods), is_wanted)
    known: dict[ast.AST, set[str]] = {}
    return [site for site in sites if _is_in_trouble(site, source, known)]


def _imported(tree: ast.Module) -> dict[str, str]:
    """The names by which a module knows consumers, or modules that hold them, with the root of their library."""
    roots = {name.partition(".")[0] for name in consumers()} - {*_OBJECTS.values()}
    return {
        name: imported.module.partition(".")[0]
        for statement in statements_of(tree.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
        if not imported.level and imported.module.partition(".")[0] in roots
    }


def _rows(source: Source, names: dict[str, str], methods: frozenset[str]) -> list[int]:
    """The rows that hold a call of one of the names, or of a method of one of the objects."""
    alternatives = [rf"\b(?:{'|'.join(map(re.escape, names))})[.(]"]
    if methods:
        alternatives.append(rf"\.(?:{'|'.join(methods)})\(")
    spelt = re.compile("|".join(alternatives))
    return sorted(
        {
            source.position_at(match.start()).row
            for start, end in _parts_in_trouble(source)
            for match in spelt.finditer(source.text, start, end)
        }
    )


def _parts_in_trouble(source: Source) -> list[tuple[int, int]]:
    """The functions and classes, from offset to offset, that say something of grad or devices; other code together."""
    definitions: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for statement in source.tree.body:
        is_definition = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        (definitions if is_definition else others).append(_extent(statement, source))
    found = [place for place in definitions if _speaks_of_trouble(source, place)]
    return sorted(found + others if any(_speaks_of_trouble(source, place) for place in others) else found)


def _is_in_trouble(site: Site, source: Source, known: dict[ast.AST, set[str]]) -> bool:
    """Whether something is said of grad or devices where the arguments come from, or an attribute of `self` is given.

    `known` keeps for each function the names that depend on what its statements say of such things.
    """
    scope = site.scopes[-1]
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return True
    given = {name for value in (*site.call.args, *site.call.keywords) for name in names_in(value)}
    if any(name.startswith("self") for name in given):
        return True
    if scope not in known:
        known[scope] = _names_in_trouble(scope, source)
    return not known[scope].isdisjoint(given) or any(
        _speaks_of_trouble(source, _extent(value, source))
        for value in (*site.call.args, *(keyword.value for keyword in site.call.keywords))
    )


def _names_in_trouble(function: ast.FunctionDef | ast.AsyncFunctionDef, source: Source) -> set[str]:
    said = {
        name
        for statement in statements_of(function.body)
        if any(_speaks_of_trouble(source, _extent(each, source)) for each in own_expressions(statement))
        for name in _names_beside(statement)
    }
    if not said:
        return said
    flow = flow_of_node(function)
    said &= flow.local_names
    return {name for name in flow.local_names if not said.isdisjoint(flow.slice({name}))}


def _names_beside(statement: ast.stmt) -> set[str]:
    """The names in a statement without those of the statements inside it."""
    return {name for expression in own_expressions(statement) for name in names_in(expression)}


def _extent(node: ast.stmt | ast.expr, source: Source) -> tuple[int, int]:
    end = source.ast_position(node.end_lineno or 0, node.end_col_offset or 0)
    return source.offset(source.ast_position(node.lineno, node.col_offset)), source.offset(end)


def _speaks_of_trouble(source: Source, place: tuple[int, int]) -> bool:
    return any(source.text.find(word, *place) >= 0 for word in TROUBLE)


def _is_named(function: ast.expr, names: dict[str, str], methods: frozenset[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in names
    if not isinstance(function, ast.Attribute):
        return False
    root = _root(function)
    if root in names:
        return function.attr in _names_of(names[root]) or function.attr in methods
    return function.attr in methods


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


_PLAIN_CALLS = frozenset("len range int float str round".split())


def _may_be_a_tensor(node: ast.expr, names: dict[str, str]) -> bool:
    """By its spelling: no literal, nothing that one of these libraries gives, no shape."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_may_be_a_tensor(item, names) for item in node.elts)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _may_be_a_tensor(node.elt, names)
    while isinstance(node, ast.BinOp):  # a long sum leans to the left
        if _may_be_a_tensor(node.right, names):
            return True
        node = node.left
    if isinstance(node, ast.UnaryOp):
        return _may_be_a_tensor(node.operand, names)
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "size"):
        return False
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numpy", "item", "tolist", "size"):
            return False
        return _root(node) not in names and _root(node) not in _PLAIN_CALLS
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr))


def converting_arguments(call: ast.Call, consumer: Consumer) -> list[Argument]:
    """The arguments of a call for the parameters that convert; none after a `*`, which hides their positions."""
    found = []
    for position, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            break
        for parameter in consumer.parameters:
            if parameter.position in (position, -1):
                found.append(Argument(node, position, None, parameter.takes))
                break
    for keyword in call.keywords:
        for parameter in consumer.parameters:
            if keyword.arg is not None and keyword.arg == parameter.name:
                found.append(Argument(keyword.value, None, keyword.arg, parameter.takes))
    return found
