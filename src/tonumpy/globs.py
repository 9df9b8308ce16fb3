"""Matches paths against globs. No file is touched."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LENGTH = 1000  # of a glob
MAX_GLOBS = 1000  # that one with braces may stand for
_MAX_DEPTH = 10  # of braces in braces
_ANY_FOLDERS = "**"
_RANGE = re.compile(r"(.)-([^]])")


class Exclude(NamedTuple):
    """A glob and the folder that it is relative to."""

    root: str
    pattern: str


def excludes(excluded: Sequence[Exclude], path: str) -> bool:
    """True if a glob covers the path: one without a slash any part of it, one with a slash the path from its root."""
    parts: dict[str | None, list[str]] = {}  # for all globs of one folder the same
    for root, pattern in excluded:
        is_whole = "/" in pattern.rstrip("/")
        key = None if is_whole and os.path.isabs(pattern) else root
        if key not in parts:
            parts[key] = (os.path.abspath(path) if key is None else os.path.relpath(path, key)).split(os.sep)
        glob = compiled(pattern)
        if _leads_to(glob, parts[key]) if is_whole else any(map(_expression(glob[0]).match, parts[key])):
            return True
    return False


@cache
def compiled(pattern: str) -> tuple[str, ...]:
    """The parts of a glob; `**` stands for any number of folders. ValueError for one that cannot be understood."""
    parts = pattern.replace(os.sep, "/").removeprefix("./").rstrip("/").split("/")
    for part in parts:
        for group in re.findall(r"\[!?(\]?[^]]*)\]", part):
            if any(first > last for first, last in _RANGE.findall(group)):
                raise ValueError(f"the glob `{part}` cannot be understood: bad character range")
    return tuple(parts)


def _leads_to(glob: tuple[str, ...], parts: list[str]) -> bool:
    """True if the glob matches the path, or a folder that it leads through; in time that grows with both lengths."""
    states = _reached(glob, {0})
    for part in parts:
        stay = {at for at in states if at < len(glob) and glob[at] == _ANY_FOLDERS}
        match = {at + 1 for at in states - stay if at < len(glob) and _expression(glob[at]).match(part)}
        states = _reached(glob, stay | match)
        if len(glob) in states:
            return True
    return False


def _reached(glob: tuple[str, ...], states: set[int]) -> set[int]:
    """With the places behind each `**`, which may stand for no folder."""
    for at, part in enumerate(glob):
        if at in states and part == _ANY_FOLDERS:
            states.add(at + 1)
    return states


@cache
def _expression(part: str) -> re.Pattern[str]:
    """The regular expression of one part, by the standard library, whose time does not explode with many stars."""
    from fnmatch import translate  # start-up: most runs have no glob

    return re.compile(translate(part), re.DOTALL)


def split_at_commas(text: str) -> list[str]:
    """The parts of a text between its commas, those inside braces not counted: `a,{b,c}` are two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def expand_braces(pattern: str) -> list[str]:
    """The globs that one with `{a,b}` stands for, as in a shell: braces without a comma stand for themselves.

    ValueError where one is not closed, they multiply, or the glob is longer than anybody would write it.
    """
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"`{pattern[:20]}...` is longer than {MAX_LENGTH} characters")
    start = pattern.find("{")
    while start != -1:
        depth, stop = 0, start
        for stop in range(start, len(pattern)):
            depth += (pattern[stop] == "{") - (pattern[stop] == "}")
            if depth == 0:
                break
            if depth > _MAX_DEPTH:
                raise ValueError(f"the braces in `{pattern}` are nested too deeply")
        else:
            raise ValueError(f"the brace in `{pattern}` is not closed")
        parts = split_at_commas(pattern[start + 1 : stop])
        if len(parts) > 1:
            found: list[str] = []
            for part in parts:
                found += expand_braces(pattern[:start] + part + pattern[stop + 1 :])
                if len(found) > MAX_GLOBS:
                    raise ValueError(f"`{pattern}` stands for more than {MAX_GLOBS} globs")
            return found
        start = pattern.find("{", start + 1)
    return [pattern]
