"""Evidence: what each fact rests on (code, callers, habit, a limit that was reached), and its join."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol

Aspect = Literal["kind", "device", "grad", "grad mode", "dtype"]


class Where(Protocol):
    """A place in the code that is looked at, and which habits are believed there."""

    def habit(self, habit: str, message: str) -> Basis | None:
        """Return what is believed there by a habit; None where the habit is switched off."""


class Strength(IntEnum):
    """The kinds of evidence, the strongest first: of two the greater one counts, as the weaker one."""

    PROOF = 0  # follows from what Python and torch do: kept only where somebody asks for the line (see origins.py)
    CALLERS = 1  # every caller in the repository gives what is safe, or a definition in another file says so
    HABIT = 2  # people mostly mean that by such a name or place
    BUDGET = 3  # the search was cut off


class Evidence(NamedTuple):
    """One thing that a fact about a value rests on: what it says, about what, and where it stands.

    `id` names the habit. `row` counts from 1; 0 where there is no place.
    """

    strength: Strength
    about: Aspect
    id: str
    message: str
    filename: str
    row: int


class Basis(NamedTuple):
    """A habit that is believed at a place, before it is said about what."""

    id: str
    message: str
    filename: str
    row: int

    def about(self, *aspects: Aspect) -> AllEvidence:
        return frozenset(Evidence(Strength.HABIT, aspect, *self) for aspect in aspects)


def cut_off(id_: str, what: str, filename: str, row: int) -> AllEvidence:
    """Return what a value rests on that has not been worked out, as the search for it was cut off: by which of its
    bounds, what has not been followed, and where that stands."""
    message = f"analysis limit reached: {what}"
    return frozenset(Evidence(Strength.BUDGET, about, id_, message, filename, row) for about in ("device", "grad"))


class Spot(NamedTuple):
    """A row of a file, where some habits are switched off."""

    filename: str
    row: int
    disabled: frozenset[str]

    def habit(self, habit: str, message: str) -> Basis | None:
        return None if habit in self.disabled else Basis(habit, message, self.filename, self.row)


# All that the facts of one value rest on. Joining is union: commutative, associative and idempotent; and as a fact is
# as strong as the weakest of what it rests on, a join is never stronger than its parts.
AllEvidence = frozenset[Evidence]
PROVED: AllEvidence = frozenset()  # nothing but proof


def joined(parts: Iterable[AllEvidence]) -> AllEvidence:
    """Return what a value rests on that is made of others."""
    found = PROVED
    for part in parts:
        if part and part is not found:
            found = found | part if found else part
    return found


def without(evidence: AllEvidence, about: Aspect) -> AllEvidence:
    """Return what is left where the fact about one aspect has been proved anew: `x.cpu()` is there whatever `x` was."""
    return evidence and frozenset(each for each in evidence if each.about != about)


def only(evidence: AllEvidence, about: Aspect) -> AllEvidence:
    """Return what the fact about one aspect rests on."""
    return evidence and frozenset(each for each in evidence if each.about == about)


def is_cut_off(evidence: AllEvidence, about: Aspect) -> bool:
    """True if more about one aspect might have been found, had the search gone on."""
    return any(each.about == about for each in of_cuts(evidence))


def of_open(evidence: AllEvidence) -> AllEvidence:
    """Return what tells of facts that are not known: where the search was cut off, and where they have begun."""
    return evidence and frozenset(each for each in evidence if each.strength in (Strength.PROOF, Strength.BUDGET))


def of_cuts(evidence: AllEvidence) -> AllEvidence:
    """Where more about anything might have been found."""
    return evidence and frozenset(each for each in evidence if each.strength is Strength.BUDGET)


def weakest(evidence: AllEvidence, about: Aspect) -> Strength:
    """The strength of the fact about one aspect."""
    return max((each.strength for each in evidence if each.about == about), default=Strength.PROOF)
