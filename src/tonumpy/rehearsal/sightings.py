"""Puts the events of a run together by the place in the user's code where they happened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tonumpy.findings import Caller, Observed
from tonumpy.observed.sighting import NOT_HELD, Sighting, together
from tonumpy.rehearsal.frames import is_own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.observed.sighting import Spot, What
    from tonumpy.rehearsal.events import Event

_MOST_HELD = 20  # different ways in which a tensor came to one place


def sightings_of(events: Iterable[Event]) -> dict[str, list[Sighting]]:
    """By the absolute path of the file; without what happened in no code of the user's.

    A call of `.numpy()` is kept apart from what else happens at the place: where only the row is known, that may be
    elsewhere in it.
    """
    places: dict[tuple[str, Spot, What, bool], list[Event]] = {}
    for each in events:
        if each.own >= 0:
            call = each.stack[each.own]
            is_method = each.is_direct and each.way == "numpy"
            places.setdefault((os.path.abspath(call.filename), call.spot, each.what, is_method), []).append(each)
    found: dict[str, list[Sighting]] = {}
    for (path, spot, what, is_method), each_time in places.items():
        found.setdefault(path, []).append(_sighting(spot, what, each_time, is_method=is_method))
    return {path: sorted(found[path], key=_place) for path in sorted(found)}


def elsewhere(events: Iterable[Event]) -> list[Event]:
    """The refusals in no code of the user's."""
    return [each for each in events if each.own < 0 and each.is_refused]


def _place(sighting: Sighting) -> tuple[int, ...]:
    return tuple(-1 if part is None else part for part in sighting.spot)


def _sighting(spot: Spot, what: What, events: list[Event], *, is_method: bool) -> Sighting:
    refused = [each for each in events if each.is_refused]
    unhandled = [each for each in refused if not each.is_handled]
    fragile = [each for each in events if each.requires_grad and not each.is_grad_enabled]
    passed = [each for each in events if not each.is_refused]
    told = unhandled or refused or fragile or events
    observed = _observed(told)._replace(is_fragile=what == "conversion" and not refused and bool(fragile))
    held = dict.fromkeys(each.held for each in told if each.held != NOT_HELD)
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
        told[0].about,
    )


def _observed(told: list[Event]) -> Observed:
    return together([_of_event(each) for each in told])._replace(stack=_callers(told[0]))


def _of_event(event: Event) -> Observed:
    error, has_grad = ": ".join(event.error or ()), "grad" in event.reasons
    facts = event.device, has_grad, event.dtype, event.layout, event.shape, event.times
    return Observed(*facts, event.reasons, error)


def _callers(event: Event) -> tuple[Caller, ...]:
    """The calls of the user's code, and how that code was reached: not what runs it, as pytest does in thirty
    frames."""
    inner, outer = event.stack[: event.own + 1], event.stack[event.own + 1 :]
    kept = [*inner, *(call for call in outer if is_own(call.filename))]
    return tuple(Caller(call.filename, call.row, call.function) for call in kept)


def _bit(told: list[Event]) -> str | None:
    """Real numbers have no conjugate bit, and the imaginary part of a conjugate has the negative one."""
    event = next((each for each in told if "bit" in each.reasons), None)
    if event is None:
        return None
    return "conjugate" if "complex" in event.dtype else "negative"
