"""Holds what a run has seen at one place of a file, all times together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from tonumpy.findings import Observed

    What = Literal[
        "conversion", "shared write", "lost gradient", "mixed devices", "unfinished copy", "taken for values"
    ]


class Spot(NamedTuple):
    """A part of a text: rows from 1, columns in UTF-8 bytes from 0, as `ast` has them. Python 3.10 knows the row only,
    the others are None there."""

    row: int
    end_row: int | None = None
    column: int | None = None
    end_column: int | None = None


class Held(NamedTuple):
    """How a converted tensor came there: the names that hold it (`kind`: itself, or in a list or dict), and the
    parameter of the library's function."""

    names: tuple[tuple[str, str], ...] = ()
    parameter: tuple[str, int | None, str] | None = None


def held_of(said: Any) -> Held:  # noqa: ANN401
    """What was written as JSON, which knows no tuples."""
    names, parameter = said
    if parameter is not None:
        name, place, kind = parameter
        parameter = str(name), None if place is None else int(place), str(kind)
    return Held(tuple((str(name), str(kind)) for name, kind in names), parameter)


def together(several: Sequence[Observed]) -> Observed:
    """Several times as one; each fact is that of the first that was refused for it."""

    def first(reason: str) -> Observed:
        return next((each for each in several if reason in each.reasons), several[0])

    return several[0]._replace(
        device=first("device").device,
        dtype=first("dtype").dtype,
        layout=first("layout").layout,
        requires_grad=any(each.requires_grad for each in several),
        times=sum(each.times for each in several),
        reasons=tuple(dict.fromkeys(reason for each in several for reason in each.reasons)),
    )


class Sighting(NamedTuple):
    """`is_method`: the code there itself called `.numpy()`. `bit` is the one that was set, where one was refused.

    `is_refused`: at least once; `observed` is of those times then, and `passed` of the others. `held` has each way in
    which a tensor came there. `is_handled`: each time the user's own code made it good, or asked for the error.
    `about`: of two tensors that met, both in words; of an unfinished copy, its place; of what is taken for values, how.
    """

    spot: Spot
    what: What
    is_method: bool
    is_refused: bool
    bit: str | None
    observed: Observed
    held: tuple[Held, ...] = ()
    passed: Observed | None = None
    is_handled: bool = False
    about: str = ""

    @property
    def is_fault(self) -> bool:
        """True unless all went well, or the user's own code makes it good."""
        return not self.is_handled and (self.is_refused or self.observed.is_fragile or self.what != "conversion")

    def has(self, reason: str) -> bool:
        return reason in self.observed.reasons


NOT_HELD = Held()
OF_DEVICES = ("mixed devices", "unfinished copy", "taken for values")  # they are no conversions
