"""Two places of a run -> whether the texts show that what one of them gave came to the other.

By names alone, and in the order of no statement, as the search for lost gradients in a text does. A place is a stack;
between the functions in it a value goes by arguments and by what is returned.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.inference.array_flow import MAX_PASSES, parts_that_make, targets_with_values
from tonumpy.observed.sites import is_at
from tonumpy.rehearsal.frames import tree_of
from tonumpy.text.candidates import is_in_row
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tonumpy.observed.sighting import Spot
    from tonumpy.rehearsal.events import Call

    Stack = tuple[Call, ...]  # the innermost call first

_ADDS = frozenset("append extend insert add update appendleft".split())
# Frames of expressions, in which the names of the function around are seen.
_OF_EXPRESSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"})


class Flows:
    """Reads each file once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[_Function, ...]] = {}  # the module, and the functions in it
        self._known: dict[tuple[Stack, Stack], bool] = {}

    def reaches(self, source: Stack, target: Stack) -> bool:
        """True if the call at `target` is made with what the call at `source` gave. Both are of the user's own code."""
        key = (source, target)
        if key not in self._known:
            self._known[key] = self._reaches(source, target)
        return self._known[key]

    def _reaches(self, source: Stack, target: Stack) -> bool:
        level = _meeting(source, target)
        if level is None:
            return False
        for call in source[: len(source) - level - 1]:  # out of each function, by what it returns
            function = self._function(call)
            is_given = call.function in _OF_EXPRESSIONS
            if function is None or not (is_given or function.gives(_nodes_at(function.root, call))):
                return False
        inner = target[: len(target) - level][::-1]
        function = self._function(source[-level - 1])
        nodes, names = _nodes_at(function.root, source[-level - 1]) if function else set(), set[str]()
        for place, call in enumerate(inner):
            if function is None:
                return False
            names = function.made_of(nodes, names)
            ends = _expressions_at(function.root, call)
            if place == len(inner) - 1:
                return any(_holds(part, nodes, names) for end in ends for part in children_of(end))
            if inner[place + 1].function in _OF_EXPRESSIONS:
                continue
            function = self._function(inner[place + 1])
            names = function.parameters(ends, nodes, names) if function is not None else set()
            nodes = set()
            if not names:
                return False
        return False

    def _function(self, call: Call) -> _Function | None:
        if call.filename not in self._files:
            tree = tree_of(call.filename)
            nodes = () if tree is None else (tree, *(node for node in walk(tree) if isinstance(node, FUNCTIONS)))
            self._files[call.filename] = tuple(map(_Function, nodes))
        whole, *functions = self._files[call.filename] or (None,)
        is_within = call.function in _OF_EXPRESSIONS
        around = [
            each
            for each in functions
            if isinstance(each.root, FUNCTIONS)
            and each.root.lineno <= call.row <= (each.root.end_lineno or 0)
            and (is_within or call.function == each.root.name)
        ]
        return around[-1] if around else whole if is_within or call.function == "<module>" else None


class _Function:
    """The expressions of a function, and what its names are made of. `self.x` is a name, too."""

    def __init__(self, root: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.root = root
        self._read = False
        self._parts: dict[str, list[ast.expr]] = {}
        self._returned: list[ast.expr] = []

    def _parsed(self) -> dict[str, list[ast.expr]]:
        if not self._read:
            self._read = True
            for statement in statements_of(self.root.body):
                if isinstance(statement, SCOPES):
                    continue
                for name, value in _bound(statement):
                    self._parts.setdefault(name, []).append(value)
                if isinstance(statement, ast.Return) and statement.value is not None:
                    self._returned.append(statement.value)
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield) and statement.value.value:
                    self._returned.append(statement.value.value)
        return self._parts

    def made_of(self, nodes: set[int], names: set[str]) -> set[str]:
        """The names, and those that are bound to what holds one of the nodes, or one of the names."""
        parts, found = self._parsed(), set(names)
        for _ in range(MAX_PASSES):
            more = {
                name
                for name, values in parts.items()
                if name not in found and any(_holds(value, nodes, found) for value in values)
            }
            if not more:
                break
            found |= more
        return found

    def gives(self, nodes: set[int]) -> bool:
        """True if what it returns holds one of the nodes."""
        names = self.made_of(nodes, set())
        return any(_holds(value, nodes, names) for value in self._returned)

    def parameters(self, calls: Iterable[ast.AST], nodes: set[int], names: set[str]) -> set[str]:
        """The parameters that are given what is made of the nodes and names, where one of these calls called this
        function."""
        if not isinstance(self.root, FUNCTIONS):
            return set()
        arguments = self.root.args
        positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        found = set()
        for call in calls:
            if not isinstance(call, ast.Call):
                continue
            own = positional[1:] if positional[:1] in (["self"], ["cls"]) else positional
            for place, value in enumerate(call.args):
                if place < len(own) and _holds(value, nodes, names):
                    found.add(own[place])
            found |= {each.arg for each in call.keywords if each.arg and _holds(each.value, nodes, names)}
        return found


def _meeting(source: Stack, target: Stack) -> int | None:
    """The number of the outermost calls that both have in common: the next one of each is made by the same function."""
    for level, (one, other) in enumerate(zip(reversed(source), reversed(target), strict=False)):
        if (one.filename, one.function) != (other.filename, other.function):
            return None
        if one != other:
            return level
    return None


def _nodes_at(root: ast.AST, call: Call) -> set[int]:
    return {id(node) for node in _expressions_at(root, call)}


def _expressions_at(root: ast.AST, call: Call) -> list[ast.expr]:
    """The expressions that were evaluated there; where only the row is known, any call in it."""
    return [node for node in walk(root) if isinstance(node, ast.expr) and _is_at(node, call.spot)]


def _is_at(node: ast.expr, spot: Spot) -> bool:
    if spot.column is None:
        return isinstance(node, (ast.Call, ast.Attribute)) and is_in_row(node, spot.row)
    return is_at(node, spot)


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    pairs = list(targets_with_values(statement))
    for target, value in pairs:
        name = path_of(target.value if isinstance(target, ast.Subscript) else target)
        if name:
            yield name, value
    if not pairs:
        yield from _added(statement)


def _added(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """`losses.append(value)`."""
    for part in own_expressions(statement):
        function = part.func if isinstance(part, ast.Call) else None
        if isinstance(part, ast.Call) and isinstance(function, ast.Attribute) and function.attr in _ADDS:
            name = path_of(function.value)
            if name:
                yield from ((name, value) for value in part.args)


def _holds(value: ast.AST, nodes: set[int], names: set[str]) -> bool:
    """True if a value is made of a node, or of a name: not by a comparison, as an index, or by what gives integers."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in nodes or (isinstance(node, (ast.Name, ast.Attribute)) and path_of(node) in names):
            return True
        waiting += parts_that_make(node)
    return False
