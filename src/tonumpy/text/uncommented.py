"""A text without its comments and docstrings: what these say is no evidence of what the code does."""

from __future__ import annotations

import re
from functools import lru_cache

# A comment, a string in three quotes, or one in one, which may hold what looks like the first two.
_PARTS = re.compile(
    r"""
    \#[^\n]*
    | (?P<long>[rRuU]?(?P<quotes>\"{3}|'{3}).*?(?<!\\)(?P=quotes))
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4)  # one text is asked for many patterns
def uncommented(text: str) -> str:
    """The text, or a statement, without comments; rows stay what they are but for those of docstrings."""
    return _PARTS.sub(_kept, text)


@lru_cache(maxsize=64)  # of a text, for each of many candidates
def shows(pattern: str, text: str) -> bool:
    """True if code, and no comment or docstring, holds something: the search is far quicker than to take these out."""
    return re.search(pattern, text) is not None and re.search(pattern, uncommented(text)) is not None


def _kept(match: re.Match[str]) -> str:
    if match[0].startswith("#"):
        return ""
    if match["long"] is None:
        return match[0]
    before = match.string[max(0, match.start() - 200) : match.start()]
    return '""' if not before.rpartition("\n")[2].strip(" \t") else match[0]
