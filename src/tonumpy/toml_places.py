"""The text of a TOML file and the path of a list in it; the row where an item, or a key of it, is written out."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[{]|[\]}]|\n|[^\"'#\[\]{}\n]+|.",
    re.DOTALL,
)


def row_of_item(text: str, path: Sequence[str], number: int, key: str | None) -> int | None:
    """The row, from 1, of a key of the item with this number, from 1, of the list at the path; of the item itself where
    it does not say the key, and of the list where that is one value. None where there is no such list.
    """
    items, found = 0, None
    under: list[str] = []
    for row, statement in _statements(text):
        said = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            under = _header(said)
            if under == [*path] and statement.lstrip().startswith("[["):
                items += 1
                found = row if items == number else found
        elif under == [*path]:
            if items == number and key in said:
                return row
        elif under == [*path[: len(under)]] and _leads_on(said, path[len(under) :]):
            return row
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each key with its value, with the row of its first character; the text is valid TOML."""
    row = first = 1
    depth, parts = 0, list[str]()
    for token in (*_TOKEN.findall(text), "\n"):
        row += token.count("\n")
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and not depth:
            if "".join(parts).strip():
                yield first, "".join(parts)
            first, parts = row, []
        elif not token.startswith("#"):
            parts.append(token)


def _header(said: dict[str, object]) -> list[str]:
    path, value = [], next(iter(said.items()), None)
    while value is not None:
        path.append(value[0])
        inner = value[1][0] if isinstance(value[1], list) else value[1]
        value = next(iter(inner.items()), None) if isinstance(inner, dict) else None
    return path


def _leads_on(said: object, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(said, dict) or key not in said:
            return False
        said = said[key]
    return True
