"""Makes of what was tried the table of a library, one line a function, and reads such a line again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from sink_trials.libraries import Library
from sink_trials.outcomes import ALL

Row = dict[str, Any]  # of one callable, what was tried
FOLDER = Path(__file__).parent.parent.parent / "src" / "tonumpy" / "detectors" / "libraries"
# What objects of other libraries, and tensors, have too: as `x.reshape(...)` says nothing of whose it is.
_SHARED = frozenset(name for kind in (torch.Tensor, torch.nn.Module, list, dict, str, set) for name in dir(kind))


# What a tensor of other numbers or another shape may not raise, where it is raised for one.
_OF_VALUES = frozenset("ValueError IndexError RuntimeError AssertionError OverflowError KeyError".split())


def path_of(library: Library) -> Path:
    return FOLDER / f"{library.root}.json"


def written(library: Library, versions: str, rows: list[Row], modules: list[str]) -> str:
    head: dict[str, object] = {"measured": versions, "modules": modules}
    if library.by_hand:
        head["by hand"] = library.by_hand
    lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    return "{\n" + ",\n".join([*lines, f'"functions": {_one_a_line(table_of(library, rows))}']) + "\n}\n"


def _one_a_line(entries: Mapping[str, object]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries)) + "\n}"


def table_of(library: Library, rows: list[Row]) -> dict[str, list[str] | str]:
    """The lines of the functions."""
    functions: dict[str, list[str] | str] = {}
    methods: dict[str, dict[str, tuple[list[str], bool]]] = {}
    things = {f"{library.root}.{thing.name}" for thing in library.things if thing.is_first}
    asked = {call.partition("(")[0] for call, _ in library.trials}
    for row in _merged(rows):
        name = row["name"].removeprefix(f"{library.root}.")
        entry = _entry(library, name, row)
        if "#" in name:
            owner, _, method = name.partition("#")
            full = f"{library.root}.{owner}"
            if method not in _SHARED or full in things or f"{full}.{method}" in asked:
                methods.setdefault(method, {})[owner] = (entry, row["accepts"])
        elif entry:
            functions[name] = entry
            for alias in row.get("aliases", ()):
                functions[alias.removeprefix(f"{library.root}.")] = name
    for method, owners in methods.items():
        functions.update(of_methods(method, owners, [thing.name for thing in library.things if thing.is_first]))
    return functions


def _entry(library: Library, name: str, row: Row) -> list[str]:
    """The lines of one callable, with what the library's table says of its name."""
    entry = list(texts_of(row["found"], "!!" if library.plain else "!"))
    if library.takes_cuda and re.match(library.takes_cuda, name):
        entry = [text for each in entry if (text := _but_for_devices(each))]
    option = dict(library.unless).get(name)
    return [each.replace(" (", f" ?{option} (", 1) for each in entry] if option else entry


def _merged(rows: list[Row]) -> list[Row]:
    """Make one row a name: a call that is written by hand stands beside those that are found."""
    merged: dict[str, Row] = {}
    for row in rows:
        if "unfinished" in row:
            continue
        known = merged.setdefault(row["name"], {"name": row["name"], "accepts": False, "found": {}, "aliases": []})
        known["accepts"] |= row["accepts"]
        known["aliases"] += row["aliases"]
        for place, ways in row["found"].items():
            for way, outcomes in ways.items():
                known["found"].setdefault(place, {}).setdefault(way, []).extend(outcomes)
    return list(merged.values())


def of_methods(method: str, owners: dict[str, tuple[list[str], bool]], things: list[str]) -> dict[str, list[str] | str]:
    """`*#method` is what an object does whose class is not known: what the first of the library's things does that has
    such, which is what its users mostly have, or what nine in ten of those do that take an array, one argument at a
    time. Those that differ have a line of their own."""
    taking = {owner: entry for owner, (entry, accepts) in owners.items() if accepts}
    if not taking:
        return {}
    places: dict[str, list[str]] = {}
    for entry in taking.values():
        for text in entry:
            places.setdefault(text.partition(" ")[0], []).append(text)
    common = [_usual(texts) for texts in places.values() if len(texts) * 10 >= len(taking) * 9]
    common = next((taking[name] for name in things if name in taking), common)
    wanted = sorted(map(head_of, common))
    found: dict[str, list[str] | str] = {f"*#{method}": common} if common else {}
    for owner, entry in taking.items():
        if sorted(map(head_of, entry)) != wanted:
            found[f"{owner}#{method}"] = entry
    return found


def _usual(texts: list[str]) -> str:
    (head, _), *_ = Counter(map(head_of, texts)).most_common(1)
    return next(text for text in texts if head_of(text) == head)


def head_of(text: str) -> str:
    """Without the call, and whether the same comes out, in which classes may differ."""
    return text.partition(" (")[0].replace("~", "")  # and so without the library's words


def texts_of(found: dict[str, dict[str, list[list[Any]]]], never: str) -> Iterable[str]:
    """Yield each parameter that refuses something: `a:0 tensor items=gd (v)`; see tonumpy.detectors.consumers.

    `never` marks the error that every tensor raises."""
    for place, ways in found.items():
        name, position = json.loads(place)
        words, calls, said = [], [], []
        for way, outcomes in ways.items():
            word = _word(way, outcomes, never)
            if word:
                words.append(word)
                calls.append(outcomes[0][0])
                said += [each[9] for each in outcomes if each[9] and ("!" in word or "@" in word)]
        if words:
            place = f"{name or ''}:{'' if position is None else position}"
            yield f"{place} {' '.join(words)} {calls[0]}{f' | {said[0]}' if said else ''}"


def is_claimed(text: str, now: str) -> bool:
    """True if all that a text says is refused is refused by what was measured now, of one call alone."""
    place, claims = _claims(text)
    place_now, found = _claims(now)
    return place == place_now and all(
        kind in found and error == found[kind][1] and sorts <= found[kind][0] for kind, (sorts, error) in claims.items()
    )


def _claims(text: str) -> tuple[str, dict[str, tuple[frozenset[str], str]]]:
    """The place, and by way the letters that are refused, or the error that every tensor raises."""
    place, *words = text.partition(" (")[0].split()
    claims = {}
    for word in words:
        way, _, error = word.partition("!")
        kind, _, sorts = way.partition("@")[0].partition("=")
        claims[kind.rstrip("~^")] = frozenset("" if error else sorts or ALL), error
    return place, claims


def _word(way: str, outcomes: list[list[Any]], never: str) -> str:
    """What all calls agree on; one that takes no tensor at all says nothing beside one that does, nor a single number
    beside arrays, nor a call after which arrays do not last beside one after which they do."""
    outcomes = _telling(outcomes)
    if not outcomes:
        return ""
    working = [each for each in outcomes if not each[3]]
    later = "^" if all(each[5] for each in outcomes if each[1] or each[3]) else ""
    if not working:
        return f"{way}{later}{never}{outcomes[0][3]}"
    refused = "".join(letter for letter in ALL if _is_refused(letter, working))
    if not refused:
        return ""
    mark = "" if all(each[4] for each in working) else "~"
    return way + mark + later + ("" if refused == ALL else f"={refused}") + _own_errors(refused, working)


def _telling(outcomes: list[list[Any]]) -> list[list[Any]]:
    outcomes = [each for each in outcomes if not re.search(r"\bs\b", each[0])] or outcomes
    outcomes = [each for each in outcomes if each[3] not in _OF_VALUES or each[6]]
    return [each for each in outcomes if each[7]] or outcomes


def _but_for_devices(text: str) -> str:
    """The same line, where what is on CUDA is taken; nothing if that was all."""
    head, bracket, rest = text.partition(" (")
    place, *words = head.split()
    kept = []
    for word in words:
        if "!" in word:
            kept.append(word)
            continue
        way, at, errors = word.partition("@")
        way, _, sorts = way.partition("=")
        sorts = (sorts or ALL).replace("d", "")
        pairs = [each.partition(":")[::2] for each in errors.split(",") if at]
        errors = ",".join(f"{name}:{left}" for name, letters in pairs if (left := letters.replace("d", "")))
        kept += [f"{way}={sorts}{at if errors else ''}{errors}"] if sorts else []
    return f"{' '.join([place, *kept])}{bracket}{rest}" if kept else ""


def _own_errors(refused: str, outcomes: list[list[Any]]) -> str:
    """`@ValueError:db`, where all calls that are refused say so."""
    found: dict[str, str] = {}
    for letter in refused:
        saying = [each for each in outcomes if letter in each[1]]
        names = {dict(each[8]).get(letter, "") for each in saying}
        if len(names) == 1 and (name := names.pop()):
            found[name] = found.get(name, "") + letter
    return f"@{','.join(f'{name}:{letters}' for name, letters in found.items())}" if found else ""


def _is_refused(letter: str, outcomes: list[list[Any]]) -> bool:
    tried = [each for each in outcomes if letter not in each[2]]
    if tried:
        return all(letter in each[1] for each in tried)
    return letter != "d" and _is_refused("d", outcomes)  # integers have no grad: they are converted as others are
