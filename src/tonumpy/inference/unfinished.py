"""Questions as they are begun, answered and asked again in; out: no answer is kept that was given too early.

What a function returns may depend on itself, and so may what an attribute holds. Whoever asks a question that is being
worked out gets what there is so far, most often nothing. An answer that was worked out with that is short of something
as soon as the question itself is answered, and is forgotten then: it has to be worked out once more, if ever.
"""

from __future__ import annotations

import math

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any


class Begun(NamedTuple):
    """A question that is being worked out, and what it found when it was begun."""

    number: int  # how many were being worked out before it
    waits_for: float  # the number of the outermost one that the question around it has asked for
    kept: int  # how many answers were waiting for others


class Unfinished:
    def __init__(self) -> None:
        self._questions: list[Hashable] = []
        self._waits_for: float = math.inf  # the outermost one that was asked for since the innermost was begun
        self._answers: list[tuple[dict[Any, Any], Hashable]] = []  # those that wait for others, as they were given
        self._waiting: dict[tuple[int, Hashable], float] = {}  # what each of them waits for

    def begin(self, question: Hashable = None) -> Begun:
        """Work on a question, with a name if others may ask for what there is of it so far."""
        begun = Begun(len(self._questions), self._waits_for, len(self._answers))
        self._questions.append(question)
        self._waits_for = math.inf
        return begun

    def ask_again(self, question: Hashable) -> None:
        """Whatever is being worked out is made with what there is of a question that is not answered yet."""
        self._waits_for = min(self._waits_for, self._questions.index(question))

    def reuse(self, answers: dict[Any, Any], key: Hashable) -> None:
        """Whatever is being worked out is made with an answer that may itself wait for others."""
        if self._waiting:
            self._waits_for = min(self._waits_for, self._waiting.get((id(answers), key), math.inf))

    def finish(self, begun: Begun, answers: dict[Any, Any], key: Hashable) -> None:
        """The innermost question has its answer, which `answers` holds under `key`."""
        del self._questions[begun.number :]
        if self._waits_for < begun.number:
            self._answers.append((answers, key))
            self._waiting[id(answers), key] = self._waits_for
        else:
            self._forget(begun.kept)
            self._waits_for = math.inf
        self._waits_for = min(self._waits_for, begun.waits_for)

    def abandon(self) -> None:
        """No question is worked on any more; one may have been left in the middle, nested too deeply."""
        self._questions.clear()
        self._waits_for = math.inf
        self._forget(0)

    def _forget(self, first: int) -> None:
        for answers, key in self._answers[first:]:
            answers.pop(key, None)
            self._waiting.pop((id(answers), key), None)
        del self._answers[first:]
