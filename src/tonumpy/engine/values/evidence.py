"""Evidence: what each fact rests on (code, callers, habit, a limit that was reached), and its join."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol

Aspect = Literal["kind", "device", "grad", "grad mode", "dtype"]


class Where(Protocol):
    """A place in the code, with the habits that are enabled there."""

    def habit(self, habit: str, message: str) -> Basis | None:
        """The basis for evidence of this habit; None if the habit is disabled."""


class Strength(IntEnum):
    """The kinds of evidence, strongest first: the greatest value, which is the weakest kind, decides."""

    PROOF = 0  # follows from what Python and torch do: kept only where somebody asks for the line (see origins.py)
    CALLERS = 1  # every caller in the repository gives what is safe, or a definition in another file says so
    HABIT = 2  # what people mostly mean by such a name or place
    BUDGET = 3  # the search was cut off


class Evidence(NamedTuple):
    """One reason for a fact about a value: its kind, the aspect, a message, and the place.

    `id` names the habit. `row` counts from 1; 0 where there is no place.
    """

    strength: Strength
    about: Aspect
    id: str
    message: str
    filename: str
    row: int


class Basis(NamedTuple):
    """A habit at a place; `about` makes evidence of it for some aspects."""

    id: str
    message: str
    filename: str
    row: int

    def about(self, *aspects: Aspect) -> AllEvidence:
        return frozenset(Evidence(Strength.HABIT, aspect, *self) for aspect in aspects)


def cut_off(id_: str, what: str, filename: str, row: int) -> AllEvidence:
    """Evidence that a limit cut off the analysis of a value: the limit's name, what was not followed, and the place."""
    message = f"analysis limit reached: {what}"
    return frozenset(Evidence(Strength.BUDGET, about, id_, message, filename, row) for about in ("device", "grad"))


class Spot(NamedTuple):
    """A row of a file, where some habits are switched off."""

    filename: str
    row: int
    disabled: frozenset[str]

    def habit(self, habit: str, message: str) -> Basis | None:
        return None if habit in self.disabled else Basis(habit, message, self.filename, self.row)


# All evidence for one value. Joining is union: commutative, associative and idempotent; and as a fact is as strong as
# its weakest evidence, a join is never stronger than its parts.
AllEvidence = frozenset[Evidence]
PROVED: AllEvidence = frozenset()  # nothing but proof


def joined(parts: Iterable[AllEvidence]) -> AllEvidence:
    """The evidence of a value that is made of others: the union of theirs."""
    found = PROVED
    for part in parts:
        if part and part is not found:
            found = found | part if found else part
    return found


def without(evidence: AllEvidence, about: Aspect) -> AllEvidence:
    """The evidence without that about one aspect, for a fact proved anew: `x.cpu()` is on the CPU whatever `x` was."""
    return evidence and frozenset(each for each in evidence if each.about != about)


def only(evidence: AllEvidence, about: Aspect) -> AllEvidence:
    """The evidence about one aspect alone."""
    return evidence and frozenset(each for each in evidence if each.about == about)


def is_cut_off(evidence: AllEvidence, about: Aspect) -> bool:
    """True if a limit cut off the analysis of one aspect."""
    return any(each.about == about for each in of_cuts(evidence))


def of_open(evidence: AllEvidence) -> AllEvidence:
    """The evidence for unknown facts: limits, and the lines of `why` (see origins.py)."""
    return evidence and frozenset(each for each in evidence if each.strength in (Strength.PROOF, Strength.BUDGET))


def of_cuts(evidence: AllEvidence) -> AllEvidence:
    """The evidence about limits, of any aspect."""
    return evidence and frozenset(each for each in evidence if each.strength is Strength.BUDGET)


def weakest(evidence: AllEvidence, about: Aspect) -> Strength:
    """The strength of the fact about one aspect."""
    return max((each.strength for each in evidence if each.about == about), default=Strength.PROOF)
