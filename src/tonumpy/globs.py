"""Matches paths against globs, without access to files."""

from __future__ import annotations

import os
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import GitIgnoreSpec

MAX_GLOBS = 1000  # that one with braces may expand to
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")  # the innermost


class Exclude(NamedTuple):
    """A glob, and the folder to which it is relative."""

    root: str
    pattern: str


def excludes(excluded: Sequence[Exclude], path: str) -> bool:
    """True if a glob matches the path, as in git's ignore rules: one without a slash matches any part of it, one with a
    slash the path from its root."""
    relative: dict[str, str] = {}  # by the root of globs
    for root, pattern in excluded:
        top = os.sep if os.path.isabs(pattern) else root
        if top not in relative:
            relative[top] = os.path.relpath(path, top).replace(os.sep, "/")
        if compiled(pattern).match_file(relative[top]):
            return True
    return False


class FileIgnores(NamedTuple):
    """Codes, or prefixes of codes, to ignore in the files that one of the globs matches, or in all others if the row
    `is_negated`."""

    globs: tuple[Exclude, ...]
    codes: tuple[str, ...]
    is_negated: bool = False

    def cover(self, path: str) -> bool:
        return excludes(self.globs, path) is not self.is_negated


@cache
def compiled(pattern: str) -> GitIgnoreSpec:
    """The matcher of a glob; ValueError if the glob is invalid."""
    from pathspec import GitIgnoreSpec  # start-up: most runs have no glob

    plain = pattern.replace(os.sep, "/").removeprefix("./").rstrip("/")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about brackets that may get another meaning
            # A glob that begins with `!` or `#` is like any other.
            return GitIgnoreSpec.from_lines([f"\\{plain}" if plain[:1] in ("!", "#") else plain])
    except (ValueError, re.error) as error:
        raise ValueError(f"the glob `{pattern}` cannot be understood: {error}") from error


def split_at_commas(text: str) -> list[str]:
    """The parts of a text between commas that are not inside braces: `a,{b,c}` has two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def expand_braces(pattern: str) -> list[str]:
    """The globs that one with `{a,b}` expands to, as in a shell; braces without a comma stay.

    ValueError if a brace is not closed, or there are more than `MAX_GLOBS`.
    """
    if pattern.count("{") > pattern.count("}"):
        raise ValueError(f"the brace in `{pattern}` is not closed")
    found, done = [pattern], list[str]()
    while found:
        glob = found.pop(0)
        braces = _BRACES.search(glob)
        if braces is None:
            done.append(glob)
        else:
            found[:0] = [glob[: braces.start()] + part + glob[braces.end() :] for part in braces[1].split(",")]
        if len(done) + len(found) > MAX_GLOBS:
            raise ValueError(f"`{pattern}` stands for more than {MAX_GLOBS} globs")
    return list(dict.fromkeys(done))
