"""Holds what a table says of every tensor against those of other dtypes and shapes, given in each way, beside options.

A row says that every tensor is refused, or a name that every sort is taken: one tensor of another kind disproves that.
"""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from sink_trials.calls import Call, parameters_of, with_options
from sink_trials.names import callables_of
from sink_trials.trial import (
    SECONDS,
    calls_found,
    fitted,
    forked,
    function_of,
    place_of,
    place_of_text,
    thing_of,
    trier_of,
)
from sink_trials.values import WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sink_trials.libraries import Library
    from sink_trials.outcomes import Trier
    from sink_trials.trial import Row


def disproved(library: Library, table: dict[str, Any], folder: Path) -> Iterator[str]:
    """A line for each claim of "every tensor" that one tensor disproves, or that cannot be tried again."""
    for name, entry in sorted(table["functions"].items()):
        claims = [text for text in entry if "!" in text.partition(" (")[0]] if isinstance(entry, list) else []
        if claims:
            rows = forked(partial(_of_rows, library, name, claims), SECONDS, folder)
            yield from (row["said"] for row in rows if "said" in row)
            if not any("tried" in row for row in rows):
                yield f"{library.root}.{name}: not tried again"


def _of_rows(library: Library, name: str, claims: list[str]) -> Iterator[Row]:
    make = _maker(library, name)
    trier = trier_of(library, make)
    parameters = parameters_of(make())
    for text in claims:
        head, _, rest = text.partition(" | ")[0].partition(" (")
        call = Call.parse(f"({rest}")
        place = json.dumps(place_of_text(head))
        slots = [slot for slot in call.slots if json.dumps(place_of(slot, parameters)) == place]
        for word in head.split()[1:]:
            way, _, error = word.partition("!")
            if error and slots:
                later = "^" in way
                calls = [call, *with_options(call, parameters)]
                found = _taken(trier, calls, slots[0], way.partition("@")[0].rstrip("~^-"), later)
                yield {"tried": True}
                if found:
                    yield {"said": f"{library.root}.{name}: {head} {call}: taken: {found}"}


def _taken(trier: Trier, calls: list[Call], slot: int | str, way: str, later: bool) -> str:
    """What is taken where every tensor is refused; nothing if that is so."""
    call = calls[0]
    for given in WAYS[way]:
        if found := trier.taken(call, slot, given, later):
            return found
        for beside in calls[1:]:
            if trier.works(beside, slot, lambda array, given=given: given(torch.as_tensor(array)), later):
                return f"beside an option, {beside}"
    return ""


def _maker(library: Library, name: str) -> Callable[[], Callable[..., Any]]:
    """What makes a function anew, with its object."""
    if "#" not in name:
        function = function_of(name if name.startswith("mpl_toolkits.") else f"{library.root}.{name}")
        return lambda: function
    owner, _, method = name.partition("#")
    things = [each for each in library.things if owner in (each.name, "*")]
    makes: list[Callable[[], object]] = [thing_of(library, each.make) for each in things]
    kinds = [function_of(f"{library.root}.{owner}")] if owner != "*" and not things else []
    if owner == "*":
        named = (each.function for each in callables_of(library.root, library.modules, library.walks))
        kinds = [each for each in named if inspect.isclass(each) and hasattr(each, method)]
    makes += [make for kind in kinds if (make := _maker_of(library, kind)) is not None]
    for make in makes:
        if callable(getattr(make(), method, None)):
            return lambda make=make: getattr(make(), method)
    raise LookupError(name)


def _maker_of(library: Library, kind: type) -> Callable[[], object] | None:
    trier = trier_of(library, lambda: kind)
    calls = [*([Call(())] if trier.works(Call(())) else []), *calls_found(kind, trier)[:1]]
    return partial(fitted, trier, calls[0]) if calls else None
