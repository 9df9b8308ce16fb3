"""Whether one of some globs covers a path. No file is touched."""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import accumulate, count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LENGTH = 1000  # of a glob
MAX_GLOBS = 1000  # that one with braces may stand for
_MAX_DEPTH = 10  # of braces in braces


class Exclude(NamedTuple):
    """A glob and the folder that it is relative to."""

    root: str
    pattern: str


def excludes(excluded: Sequence[Exclude], path: str) -> bool:
    """Whether a glob covers the path: one without a slash any part of it, one with a slash the path from its root."""
    tried: dict[tuple[str | None, bool], list[str]] = {}  # for all globs of one folder the same
    for root, pattern in excluded:
        glob, is_whole, is_absolute = _compiled(pattern)
        key = (None if is_absolute else root, is_whole)
        texts = tried.get(key)
        if texts is None:
            texts = tried[key] = _texts(path, *key)
        for text in texts:
            if glob.fullmatch(text):
                return True
    return False


def _texts(path: str, root: str | None, is_whole: bool) -> list[str]:
    """The parts of a path, or the paths from its root to each."""
    parts = (os.path.abspath(path) if root is None else os.path.relpath(path, root)).split(os.sep)
    return list(accumulate(parts, "{}/{}".format)) if is_whole else parts


@cache
def _compiled(pattern: str) -> tuple[re.Pattern[str], bool, bool]:
    """And whether it is one of whole paths, and of absolute ones."""
    is_whole = "/" in pattern.rstrip("/")
    text = pattern.replace(os.sep, "/").removeprefix("./").rstrip("/")
    return re.compile(regular_expression(text), re.DOTALL), is_whole, is_whole and os.path.isabs(pattern)


def regular_expression(pattern: str) -> str:
    """That of a glob in which `*` stays within one part of a path and `**` does not. ValueError where it has none.

    However many stars there are, the time of a match does not explode: what stands between two of them is taken at the
    first place where it is found, and no other is tried (an atomic group, in the words that Python 3.10 has for one).
    That is no loss. What follows a later place within the same part of the path also follows the first, with more left
    to the next star, and between two `**` the same is true of whole parts.
    """
    blocks = [("", [("", "")])]  # what a `**` skips, and behind it stars with the text that follows each
    for piece in re.split(r"((?:^|(?<=/))\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\])", re.sub(r"\*{3,}", "**", pattern)):
        if piece in _CROSSING:
            blocks.append((_CROSSING[piece], [("", "")]))
        elif piece == "*":
            blocks[-1][1].append(("[^/]*?", ""))
        else:
            star, text = blocks[-1][1][-1]
            blocks[-1][1][-1] = (star, text + _literal(piece))
    *before, (last_skipped, last_block) = blocks
    found = "".join(_once(skipped + "".join(_once(star + text) for star, text in block)) for skipped, block in before)
    *stars, (last_star, text) = last_block
    return found + last_skipped + "".join(_once(star + each) for star, each in stars) + last_star + text


_CROSSING = {"**/": "(?:.*?/)??", "**": ".*?"}


def _once(expression: str) -> str:
    """The expression at the one place where it matches first."""
    name = f"g{next(_numbers)}"
    return f"(?=(?P<{name}>{expression}))(?P={name})" if expression else ""


_numbers = count()  # the names of groups need only differ


def _literal(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if not (piece[:1] == "[" and len(piece) > 2):
        return re.escape(piece)
    inner = piece[1:-1]
    group = f"(?!/)[{'^' if inner[0] == '!' else ''}{_characters(inner.removeprefix('!'))}]"
    try:
        re.compile(group)
    except re.error as error:
        raise ValueError(f"the glob `{piece}` cannot be understood: {error.msg}") from error
    return group


def _characters(inner: str) -> str:
    """Those of a class, with ranges, in a form in which nothing else has a meaning, now or in a later Python."""
    found, at = "", 0
    while at < len(inner):
        is_range = inner[at + 1 : at + 2] == "-" and at + 2 < len(inner)
        found += re.escape(inner[at]) + (f"-{re.escape(inner[at + 2])}" if is_range else "")
        at += 3 if is_range else 1
    return found


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
