"""From the files of a run to the promises and own sinks in the settings that speak of nothing in them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tonumpy.boundary.paths import real_path
from tonumpy.findings import SourceError
from tonumpy.frontends.disk import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tonumpy.config import Configuration


def unused_rows(paths: Sequence[str], files: Sequence[str], configuration: Configuration) -> Iterator[str]:
    """A warning for each row of `[[tool.tonumpy.promises]]` and `sinks` whose function no file names but to define it.

    `paths` are those that were named: only of settings whose whole folder is among them something is told.
    """
    governed: dict[str, list[str]] = {}
    for file in files:
        origin = configuration.governed(os.path.dirname(file))[1]
        if origin is not None:
            governed.setdefault(origin, []).append(file)
    for origin, own in sorted(governed.items()):
        settings = configuration.settings_in(os.path.dirname(own[0]))
        named = [("promises", row.function) for row in settings.promises]
        named += [("sinks", row.function) for row in settings.sinks]
        if named and _covers(paths, os.path.dirname(os.path.abspath(origin))):
            yield from _told(origin, named, _used([name for _, name in named], own))


def _told(origin: str, named: Sequence[tuple[str, str]], used: Collection[str]) -> Iterator[str]:
    text = _text_of(origin)
    for key, name in dict.fromkeys(named):
        if name not in used:
            told = f"[tool.tonumpy] {key}: `{name}` is unused: no file of this run imports, reads or calls it"
            yield f"{os.path.relpath(origin)}{_row(text, name)}: {told}"


def _covers(paths: Sequence[str], folder: str) -> bool:
    here = os.path.join(real_path(folder), "")
    return any(os.path.isdir(path) and here.startswith(os.path.join(real_path(path), "")) for path in paths)


def _text_of(origin: str) -> str:
    try:
        return read(origin).decode(errors="replace")
    except SourceError:
        return ""


def _row(text: str, name: str) -> str:
    """The row of the name; nothing if that is a file which this one extends."""
    found = re.search(rf"""["']{re.escape(name)}["']""", text)
    return "" if found is None else f":{text.count(chr(10), 0, found.start()) + 1}"


def _used(names: Iterable[str], files: Sequence[str]) -> set[str]:
    """The names whose last word some file has, other than to define it; of a method, its class is named too."""
    words = {name: _words(name) for name in names}
    left = {word for own in words.values() for word in own}
    for file in files:
        if not left:
            break
        try:
            data = read(file)
        except SourceError:
            continue  # its own check tells of it
        left = {word for word in left if not re.search(rf"(?<!def )(?<!class )\b{word}\b".encode(), data)}
    return {name for name, own in words.items() if not left & own}


def _words(name: str) -> set[str]:
    *_, holder, last = name.split(".")
    return {word for word in (holder, last) if (word == last or holder[:1].isupper()) and not word.endswith("__")}
