"""Puts the events of a run together by the place in the user's code where they happened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tonumpy.findings import Caller, Observed
from tonumpy.observed.sighting import Held, Sighting, Spot
from tonumpy.rehearsal.own_code import is_own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.observed.sighting import What
    from tonumpy.rehearsal.events import Event
    from tonumpy.rehearsal.spool import Noted

_MOST_HELD = 20  # different ways in which a tensor came to one place


def sightings_of(noted: Iterable[Noted]) -> dict[str, list[Sighting]]:
    """By the absolute path of the file; without what happened in no code of the user's.

    A call of `.numpy()` is kept apart from what else happens at the place: where only the row is known, that may be
    elsewhere in it.
    """
    places: dict[tuple[str, Spot, What, bool], list[Noted]] = {}
    for each in noted:
        if each.own >= 0:
            call = each.event.stack[each.own]
            spot = Spot(call.row, call.end_row, call.column, call.end_column)
            path = os.path.abspath(call.filename)
            places.setdefault((path, spot, _what(each.event), _is_method(each)), []).append(each)
    found: dict[str, list[Sighting]] = {}
    for (path, spot, what, is_method), together in places.items():
        found.setdefault(path, []).append(_sighting(spot, what, together, is_method=is_method))
    return {path: sorted(found[path], key=_place) for path in sorted(found)}


def elsewhere(noted: Iterable[Noted]) -> list[Noted]:
    """The refusals in no code of the user's."""
    return [each for each in noted if each.own < 0 and each.event.is_refused]


def _what(event: Event) -> What:
    if event.way == "operator":
        return "mixed devices" if event.reasons == ("mixed",) else "conversion"
    return "conversion" if event.way == "numpy" or event.way == "array" else event.way


def _is_method(noted: Noted) -> bool:
    return noted.is_direct and noted.event.way == "numpy"


def _place(sighting: Sighting) -> tuple[int, ...]:
    return tuple(-1 if part is None else part for part in sighting.spot)


def _sighting(spot: Spot, what: What, together: list[Noted], *, is_method: bool) -> Sighting:
    refused = [each for each in together if each.event.is_refused]
    unhandled = [each for each in refused if not each.event.is_handled]
    fragile = [each for each in together if each.event.requires_grad and not each.event.is_grad_enabled]
    passed = [each for each in together if not each.event.is_refused]
    told = unhandled or refused or fragile or together
    observed = _observed(told)._replace(is_fragile=what == "conversion" and not refused and bool(fragile))
    held = dict.fromkeys(Held(each.holders, each.parameter) for each in told if each.holders or each.parameter)
    return Sighting(
        spot,
        what,
        is_method or what != "conversion",
        bool(refused),
        _bit(told),
        observed,
        tuple(held)[:_MOST_HELD],
        _observed(passed) if passed else None,
        bool(refused) and not unhandled,
        told[0].event.about,
    )


def _observed(told: list[Noted]) -> Observed:
    first = told[0].event
    reasons = tuple(dict.fromkeys(reason for each in told for reason in each.event.reasons))
    return Observed(
        _first(told, "device").device,
        "grad" in reasons,
        _first(told, "dtype").dtype,
        _first(told, "layout").layout,
        first.shape,
        sum(each.times for each in told),
        reasons,
        ": ".join(first.error or ()),
        _callers(told[0]),
    )


def _callers(noted: Noted) -> tuple[Caller, ...]:
    """The calls of the user's code, and how that code was reached: not what runs it, as pytest does in thirty
    frames."""
    stack = noted.event.stack
    kept = [*stack[: noted.own + 1], *(call for call in stack[noted.own + 1 :] if is_own(call.filename))]
    return tuple(Caller(call.filename, call.row, call.function) for call in kept)


def _first(told: list[Noted], reason: str) -> Event:
    return next((each.event for each in told if reason in each.event.reasons), told[0].event)


def _bit(told: list[Noted]) -> str | None:
    """Real numbers have no conjugate bit, and the imaginary part of a conjugate has the negative one."""
    event = next((each.event for each in told if "bit" in each.event.reasons), None)
    if event is None:
        return None
    return "conjugate" if "complex" in event.dtype else "negative"
