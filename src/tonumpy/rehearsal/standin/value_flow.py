"""Decides by the source whether the result of a call at one place of a run flows into a call at another.

The flow goes by names alone, whatever the order of statements, as in the check for lost gradients. A place is a stack:
a value leaves its functions by what they return, and enters them by any argument.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tonumpy.detectors.lost_gradients import holds, made_of
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.observed.sighting import is_near
from tonumpy.rehearsal.events import Call
from tonumpy.rehearsal.frames import tree_of
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of, walk

Stack = tuple[Call, ...]  # the innermost call first

_ADDS = frozenset("append extend insert add update appendleft".split())
# Frames of expressions, which see the names of the enclosing function.
_OF_EXPRESSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"})


@cache
def reaches(source: Stack, target: Stack) -> bool:
    """True if the result of the call at `source` flows into the call at `target`, both in the user's own code."""
    level = _meeting(source, target)
    if level is None:
        return False
    for call in source[: len(source) - level - 1]:  # out of each function, by what it returns
        function = _function(call)
        if function is None or not (call.function in _OF_EXPRESSIONS or function.gives(_nodes_at(function, call))):
            return False
    # Not followed into the target's functions: any argument of them is taken to reach the call there.
    made, call = source[-level - 1], target[-level - 1]
    nodes, function = _nodes_at(_function(made), made), _function(call)
    if function is None or not nodes:
        return False
    names = made_of(function.parts, nodes)
    return any(holds(part, nodes, names) for end in _expressions_at(function, call) for part in children_of(end))


def _meeting(source: Stack, target: Stack) -> int | None:
    """The number of outermost calls that both stacks share, if the next call of each is in the same function."""
    for level, (one, other) in enumerate(zip(reversed(source), reversed(target), strict=False)):
        if (one.filename, one.function) != (other.filename, other.function):
            return None
        if one != other:
            return level
    return None


@cache
def _functions(filename: str) -> tuple[_Function, ...]:
    """The module, and the functions in it."""
    tree = tree_of(filename)
    nodes = () if tree is None else walk(tree)
    return tuple(_Function(each) for each in nodes if isinstance(each, (ast.Module, *FUNCTIONS)))


def _function(call: Call) -> _Function | None:
    is_within = call.function in _OF_EXPRESSIONS
    around = [
        each for each in _functions(call.filename) if each.has(call.row) and (is_within or each.name == call.function)
    ]
    return around[-1] if around else None


class _Function:
    """The expressions of a function or module, and those that each name (`self.x`, too) is bound to."""

    def __init__(self, root: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.root = root
        self.name = "<module>" if isinstance(root, ast.Module) else root.name
        self.parts: dict[str, list[ast.expr]] = {}
        self._returned: list[ast.expr] = []
        for statement in statements_of(root.body):
            if not isinstance(statement, SCOPES):
                for name, value in _bound(statement):
                    self.parts.setdefault(name, []).append(value)
                given = statement.value if isinstance(statement, (ast.Return, ast.Expr)) else None
                if isinstance(statement, ast.Expr):
                    given = given.value if isinstance(given, ast.Yield) else None
                self._returned += [given] if given is not None else []

    def has(self, row: int) -> bool:
        return isinstance(self.root, ast.Module) or self.root.lineno <= row <= (self.root.end_lineno or 0)

    def gives(self, nodes: set[int]) -> bool:
        """True if one of the nodes flows into a returned value."""
        names = made_of(self.parts, nodes)
        return any(holds(value, nodes, names) for value in self._returned)


def _nodes_at(function: _Function | None, call: Call) -> set[int]:
    return set() if function is None else {id(node) for node in _expressions_at(function, call)}


def _expressions_at(function: _Function, call: Call) -> list[ast.expr]:
    """The expressions that the call was evaluating; if only the row is known, any call or attribute in it."""
    kinds = ast.expr if call.column is not None else (ast.Call, ast.Attribute)
    return [node for node in walk(function.root) if isinstance(node, kinds) and is_near(node, call.spot)]


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement binds or adds to (`losses.append(value)`), each with the value."""
    pairs = [(each.value if isinstance(each, ast.Subscript) else each, value) for each, value in stores_of(statement)]
    calls = (part for part in own_expressions(statement) if isinstance(part, ast.Call))
    for call in calls if not pairs else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDS:
            pairs += [(call.func.value, value) for value in call.args]
    for target, value in pairs:
        name = path_of(target)
        if name:
            yield name, value
