"""Strips comments and docstrings from a text: their words are no evidence of what the code does."""

from __future__ import annotations

import re
from functools import lru_cache

# A comment, a triple-quoted string, or another string, which may contain the signs of the first two.
_PARTS = re.compile(
    r"""
    \#[^\n]*
    | (?P<long>[rRuU]?(?P<quotes>\"{3}|'{3}).*?(?<!\\)(?P=quotes))
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4)  # a text is searched for many patterns
def uncommented(text: str) -> str:
    """The text of a module or statement without comments and docstrings; all other rows are kept."""
    return _PARTS.sub(_kept, text)


@lru_cache(maxsize=64)  # asked about one text for each of many candidates
def shows(pattern: str, text: str) -> bool:
    """True if a pattern matches in code outside of comments and docstrings; a search of the whole text, far quicker
    than stripping it, comes first."""
    return re.search(pattern, text) is not None and re.search(pattern, uncommented(text)) is not None


def _kept(match: re.Match[str]) -> str:
    if match[0].startswith("#"):
        return ""
    if match["long"] is None:
        return match[0]
    before = match.string[max(0, match.start() - 200) : match.start()]
    return '""' if not before.rpartition("\n")[2].strip(" \t") else match[0]
