"""From a test to the conditions that hold in each of its branches, and whether two of them exclude each other.

A test of the same text counts as the same test, whatever has happened since: nothing is said of what stands where it
holds and where it does not.
"""

from __future__ import annotations

import ast

from tonumpy.lazy_typing import NamedTuple


class Condition(NamedTuple):
    """`literal` is the text of what a test compares with for equality, if that is a literal."""

    test: str
    literal: str | None
    holds: bool

    def contradicts(self, other: Condition) -> bool:
        if self.test != other.test:
            return False
        return self.holds != other.holds if self.literal == other.literal else self.holds and other.holds


Conditions = frozenset[Condition]
ALWAYS: Conditions = frozenset()
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is}


def shown_by(test: ast.expr, holds: bool) -> Conditions:
    """What is so where a test holds, or does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return shown_by(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        all_are_so = isinstance(test.op, ast.And) is holds
        return ALWAYS.union(*(shown_by(part, holds) for part in test.values)) if all_are_so else ALWAYS
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return frozenset((Condition(ast.unparse(test), None, holds),))
    operator, right = type(test.ops[0]), test.comparators[0]
    asked, holds = _OPPOSITES.get(operator, operator), holds is (operator not in _OPPOSITES)
    is_literal = asked is ast.Eq and isinstance(right, ast.Constant)
    compared = "" if is_literal else ast.unparse(right)
    literal = ast.unparse(right) if is_literal else None
    return frozenset((Condition(f"{ast.unparse(test.left)} {asked.__name__} {compared}", literal, holds),))


class Branch:
    """What the tests around the statement at hand show, and have shown where memory came to be shared."""

    def __init__(self) -> None:
        self.shown = ALWAYS
        self._at_calls: dict[ast.Call, Conditions] = {}

    def note(self, call: ast.Call) -> None:
        """That a call may share memory, or hand on what a function has made to do so."""
        self._at_calls[call] = self._at_calls.get(call, self.shown) & self.shown

    def is_apart_from(self, call: ast.Call) -> bool:
        return self.excludes(self._at_calls.get(call, ALWAYS))

    def excludes(self, there: Conditions) -> bool:
        """Whether no run that comes here has been there."""
        return any(one.contradicts(other) for one in self.shown for other in there)
