"""From a name and a statement to what gave it its value there, if that is one statement of the same function.

Of branches nothing is known behind them: only what surely was run before counts. A body is gone through once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.syntax import SCOPES, blocks_of

if TYPE_CHECKING:
    from tonumpy.engine.names.syntax_lowering import Store

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITH = (ast.With, ast.AsyncWith)


class Given(NamedTuple):
    """The store of a name, and its statement."""

    store: Store
    statement: ast.stmt


class _Block(NamedTuple):
    """A block and what is around it; `loop`: the numbers of its first statement and the last, where it is a loop's."""

    around: _Block | None
    loop: list[int]


class _Placed(NamedTuple):
    given: Given
    number: float
    block: _Block


class ReachingStores:
    """Of the body of a module, class or function."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self._stores: dict[str, list[_Placed]] = {}
        self._placed: dict[int, tuple[int, _Block]] = {}
        self._collect(body)

    def _collect(self, body: list[ast.stmt]) -> None:
        outermost = _Block(None, [])
        waiting: list[tuple[ast.stmt | None, _Block]] = [(each, outermost) for each in body[::-1]]
        number = 0
        while waiting:
            statement, block = waiting.pop()
            if statement is None:  # behind a loop
                block.loop[1] = number
                continue
            number += 1
            self._placed[id(statement)] = number, block
            inner = block
            if isinstance(statement, _LOOPS):
                inner = _Block(block, [number, number])
                waiting.append((None, inner))
            for store in stores_of(statement):
                within = inner if isinstance(statement, _LOOPS) else block
                placed = _Placed(Given(store, statement), number + 0.5, within)
                self._stores.setdefault(store.root, []).append(placed)
            if isinstance(statement, SCOPES):
                continue
            for at, part in list(enumerate(blocks_of(statement)))[::-1]:
                own = inner if isinstance(statement, _WITH) or (inner is not block and not at) else _Block(block, [])
                waiting += [(each, own) for each in part[::-1]]

    def gives(self, name: str) -> bool:
        """Whether anything gives a name a value."""
        return name in self._stores

    def given_to(self, name: str, statement: ast.stmt) -> Given | None:
        """What a name holds where a statement begins; None where that is unknown."""
        number, block = self._placed.get(id(statement), (0, None))
        before = [each for each in self._stores.get(name, ()) if each.number < number]
        if not before:
            return None
        last = before[-1]
        after = self._stores[name][len(before) :]
        around = block
        while around is not None and around is not last.block:
            if around.loop and any(each.number < around.loop[1] + 1 for each in after):
                return None  # an earlier round may have given it another
            around = around.around
        store = last.given.store
        is_whole = store.rebinds and isinstance(store.target, ast.Name) and store.how in ("whole", "part", "item")
        return last.given if around is not None and is_whole else None
