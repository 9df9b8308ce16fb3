"""From a test to the conditions that hold in each of its branches, and whether two of them exclude each other."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import path_of
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Condition(NamedTuple):
    """`text` is what the test compares with for equality, if that is a literal text.

    `asks_for_value`: an object that is changed in place may answer differently later.
    """

    test: str
    text: str | None
    holds: bool
    paths: tuple[str, ...]
    asks_for_value: bool

    def contradicts(self, other: Condition) -> bool:
        if self.test != other.test:
            return False
        return self.holds != other.holds if self.text == other.text else self.holds and other.holds


Conditions = frozenset[Condition]
ALWAYS: Conditions = frozenset()
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is}


def shown_by(test: ast.expr, holds: bool) -> Conditions:
    """What is so where a test holds, or does not; of a test with calls, or of anything worked out, nothing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return shown_by(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        all_are_so = isinstance(test.op, ast.And) is holds
        return ALWAYS.union(*(shown_by(part, holds) for part in test.values)) if all_are_so else ALWAYS
    if not isinstance(test, ast.Compare):
        path = path_of(test)
        return ALWAYS if path is None else frozenset((Condition(path, None, holds, (path,), asks_for_value=True),))
    if len(test.ops) > 1 or not isinstance(test.ops[0], (*_OPPOSITES.values(), *_OPPOSITES, *_ORDERS)):
        return ALWAYS
    left, right = test.left, test.comparators[0]
    paths = [path_of(side) for side in (left, right) if not isinstance(side, ast.Constant)]
    operator, opposite = type(test.ops[0]), _OPPOSITES.get(type(test.ops[0]))
    text = right.value if isinstance(right, ast.Constant) and isinstance(right.value, str) else None
    is_text = text is not None and not issubclass(operator, _ORDERS)
    asked = (opposite or operator).__name__
    test_of = f"{ast.unparse(left)} {asked}" if is_text else f"{ast.unparse(left)} {asked} {ast.unparse(right)}"
    is_identity = asked == ast.Is.__name__
    condition = Condition(
        test_of,
        text if is_text else None,
        holds is (opposite is None),
        tuple(path for path in paths if path is not None),
        asks_for_value=not is_text and not is_identity,
    )
    return ALWAYS if None in paths else frozenset((condition,))


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class Branch:
    """What the tests around the statement at hand show, and have shown where memory came to be shared.

    `is_fixed` tells whether a test has one outcome throughout.
    """

    def __init__(self, is_fixed: Callable[[Condition], bool]) -> None:
        self.shown = ALWAYS
        self._is_fixed = is_fixed
        self._at_calls: dict[ast.Call, Conditions] = {}

    def note(self, call: ast.Call) -> None:
        """That a call may share memory, or hand on what a function has made to do so."""
        self._at_calls[call] = self._at_calls.get(call, self.shown) & self.shown

    def is_apart_from(self, call: ast.Call) -> bool:
        return self.excludes(self._at_calls.get(call, ALWAYS))

    def excludes(self, there: Conditions) -> bool:
        """Whether no run that comes here has been there."""
        return any(
            one.contradicts(other) and self._is_fixed(one) and self._is_fixed(other)
            for one in self.shown
            for other in there
        )
