"""Globs and a path in; whether one of them covers the path out. No file is touched."""

from __future__ import annotations

import os
import re
from functools import cache

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tonumpy.config import Exclude


def excludes(excluded: Sequence[Exclude], path: str) -> bool:
    """Whether a glob covers the path: one without a slash any part of it, one with a slash the path from its root."""
    for root, pattern in excluded:
        parts = os.path.relpath(path, root).split(os.sep)
        glob = _compiled(pattern.replace(os.sep, "/").removeprefix("./").rstrip("/"))
        tried: Iterator[str] = iter(parts)
        if "/" in pattern.rstrip("/"):
            whole = os.path.abspath(path).split(os.sep) if os.path.isabs(pattern) else parts
            tried = ("/".join(whole[:count]) for count in range(1, len(whole) + 1))
        if any(glob.fullmatch(text) for text in tried):
            return True
    return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a glob in which `*` stays within one part of a path and `**` does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\])", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(
            meaning.get(piece)
            or (piece.replace("[!", "[^") if piece[:1] == "[" and len(piece) > 2 else re.escape(piece))
            for piece in pieces
        ),
        re.DOTALL,
    )
