"""The fixpoint solver: from queries that may depend on themselves to answers that are stable; no unstable one is kept.

What a function returns, or an attribute holds, may depend on itself. A query that is asked while it is being solved
gives its current answer, at first bottom (`Nothing`). An answer computed from a current answer is invalid once that
answer grows; it is dropped then, and computed again when it is asked for.

An answer that a limit has cut short, or that was computed from one, is dropped when the budget is refuelled. To drop it
earlier, wherever more could be spent, took a quarter more time on 14 repositories and decided no conversion more; to
drop it at once took 120 s in place of 0.4 on functions that call themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.value_facts import mapped, members
from tonumpy.engine.values.values import NOTHING, Constant, Mapping, NonTensor, Sequence, Tensor, Unknown, same

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any, TypeVar

    from tonumpy.engine.values.values import Value
    from tonumpy.inference.summaries.budget import Budget

    _Answer = TypeVar("_Answer")


class Query(NamedTuple):
    """A query that is being solved, and the state of the solver when it was begun."""

    answers: dict[Any, Any]  # which is to hold its answer
    key: Hashable  # under this
    waits_for: float  # what the question around it waited for
    kept: int  # how many answers were early ones
    cuts: int  # how many answers a limit had cut short

    @property
    def name(self) -> tuple[int, Hashable]:
        return id(self.answers), self.key


class FixpointSolver:
    """The stack of queries that are being solved, and the answers that wait for an enclosing query to become stable."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._queries: list[Query] = []
        self._numbers: dict[tuple[int, Hashable], int] = {}  # where in that list each of them stands
        self._waits_for: float = math.inf  # the number of the outermost question that the innermost has asked for
        self._early: list[Query] = []  # those whose answers wait for others, as they were given
        self._waiting: dict[tuple[int, Hashable], float] = {}  # what each of them waits for
        self._so_far: dict[tuple[int, Hashable], Value] = {}  # what repeated questions came to the last time
        self._cut: dict[tuple[int, Hashable], Query] = {}  # those whose answers a limit has cut short

    def solving(self, answers: dict[Any, Any], key: Hashable) -> FixpointSolver:
        """A context manager around the code that puts the answer to the query (`answers`, `key`) into `answers`."""
        query = Query(answers, key, self._waits_for, len(self._early), self._budget.cuts)
        self._numbers.setdefault(query.name, len(self._queries))
        self._queries.append(query)
        self._waits_for = math.inf
        return self

    def __enter__(self) -> None:
        """Nothing more: the question has been begun."""

    def __exit__(self, *raised: object) -> None:
        query = self._queries.pop()
        name, number = query.name, len(self._queries)
        if self._numbers.get(name) == number:
            del self._numbers[name]
        if self._budget.cuts != query.cuts:
            self._cut[name] = query
            self._so_far.pop(name, None)
        if self._waits_for < number:
            self._early.append(query)
            self._waiting[name] = self._waits_for
        else:
            self._forget(query.kept)
            self._waits_for = math.inf
        self._waits_for = min(self._waits_for, query.waits_for)

    def known(self, answers: dict[Any, _Answer], key: Hashable) -> _Answer | None:
        """The answer in `answers` under `key`, noted as used; None if there is none yet."""
        answer = answers.get(key)
        if answer is not None:
            self.use(answers, key)
        return answer

    def use(self, answers: dict[Any, Any], key: Hashable) -> None:
        """Note that the current query depends on the answer under `key`, which may be unstable or cut short."""
        name = (id(answers), key)
        if name in self._cut:
            self._budget.cut()
        number = self._numbers.get(name)
        if number is not None:
            self._waits_for = min(self._waits_for, number)
        elif self._waiting:
            self._waits_for = min(self._waits_for, self._waiting.get(name, math.inf))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being worked out."""
        return not self._queries

    def current_answer(self, answers: dict[Any, Any], key: Hashable) -> Value:
        """The current answer of a query that is being solved, noted as used; bottom at first."""
        self.use(answers, key)
        return self._so_far.get((id(answers), key), NOTHING)

    @property
    def waits_for_another(self) -> bool:
        """True if the current query depends on an enclosing one: no answer of its own is kept until that is stable."""
        return self._waits_for < len(self._queries) - 1

    def invalidate(self) -> None:
        """Drop the answers that were computed from the current query's former answer, as it has grown."""
        self._forget(self._queries[-1].kept)

    def is_unstable(self, answer: Value) -> bool:
        """True until the current query is stable: solve it again, with `answer` as its current answer.

        If it depends on an enclosing query, that one is solved again, and this one with it.
        """
        number = len(self._queries) - 1
        if self._waits_for > number:
            return False
        name = self._queries[-1].name
        before = self._so_far.get(name, NOTHING)
        after = self._so_far[name] = join(before, _shallow(answer))
        if self._waits_for < number or same(before, after):
            return False
        self._waits_for = math.inf
        self.invalidate()
        return True

    def abandon(self) -> None:
        """Drop all queries and the answers that are not final, as after a RecursionError."""
        self._queries.clear()
        self._numbers.clear()
        self._so_far.clear()
        for query in self._cut.values():
            query.answers.pop(query.key, None)
        self._cut.clear()
        self._waits_for = math.inf
        self._forget(0)

    def _forget(self, first: int) -> None:
        for query in self._early[first:]:
            query.answers.pop(query.key, None)
            self._waiting.pop(query.name, None)
            self._cut.pop(query.name, None)
        del self._early[first:]


_WITHOUT_PARTS = (Tensor, Unknown, NonTensor, Constant)


def _shallow(value: Value) -> Value:
    """Without what has parts that have parts: what holds a former answer could else be nested ever deeper."""
    return join_all(
        mapped(member, _flat) for member in members(value) if isinstance(member, (Sequence, Mapping, *_WITHOUT_PARTS))
    )


def _flat(value: Value) -> Value:
    return join_all(member for member in members(value) if isinstance(member, _WITHOUT_PARTS))
