"""From the text of a class or module to the rows that may write an attribute, before anything is parsed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.engine.names.torch_words import FILLING

if TYPE_CHECKING:
    import ast

    from tonumpy.text.source import Source

# What puts something into an attribute: `.append(x)`, `.add_(x)`, `.requires_grad = True`.
_FILLS = rf"\.[ \t]*(?:(?:{'|'.join(sorted(FILLING))}|requires_grad)\b|\w+_\()"
_ASSIGNS_OR_FILLS = rf"(?<![=!<>])=(?!=)|<<=|>>=|{_FILLS}"
_IS_TARGET = re.compile(r"\b(?:for|as)\b|^\s*\w+\s*$", re.MULTILINE)


@cache
def _attribute() -> re.Pattern[str]:
    """One with what stands behind it where something is assigned to it or put into it: surely, or perhaps.

    To compile it takes a millisecond, which a start that asks for no attribute need not.
    """
    assigns = r"(?:[-+*/%@&|^]|\*\*|//|<<|>>)?=(?!=)"
    perhaps = r"[\[\],:;)\\#\r\n]|in\b|$"
    by_name = r"""(?:register_\w{1,99}|add_state|setattr(?:__)?)\((?:[^"']{0,999}?(?:name\s*=|,))?\s*["'](\w+)"""
    return re.compile(rf"\.[ \t]*(\w+)(?=[ \t]*(?:({assigns}|{_FILLS})|{perhaps}))|{by_name}")


def rows_that_may_write(node: ast.ClassDef, source: Source) -> dict[str, list[int]]:
    """The rows (from 1, ascending) of a class in which each attribute may be written.

    Most attributes are only read in most methods, which then need not be parsed.
    """
    found: dict[str, list[int]] = {}
    for match in _attribute().finditer(source.text, *source.extent(node)):
        name, is_written, registered_name = match.groups()
        if name is not None and is_written is None and not _may_be_target(source.text, *match.span()):
            continue
        row = source.position_at(match.start(1 if name else 3)).row
        found.setdefault(name or registered_name, []).append(row)
    return found


_MAX_LINE = 2000  # characters


def _may_be_target(text: str, dot: int, end: int) -> bool:
    """Whether an attribute may be one of several targets, a target that has an index, or one of a loop or a context."""
    line_end = text.find("\n", end, end + _MAX_LINE)
    if line_end == -1:
        line_end = len(text)
    if line_end - end > _MAX_LINE:
        return True  # as far as is known without going through it once for each attribute in it
    rest = text[end:line_end]
    if re.search(_ASSIGNS_OR_FILLS, rest) is not None or rest.count("[") > rest.count("]"):
        return True
    if rest.rstrip()[-1:] in ("", ",", "(", "\\"):
        return True
    nearest = max(dot - _MAX_LINE, 0)
    return _IS_TARGET.search(text, max(text.rfind("\n", nearest, dot) + 1, nearest), dot) is not None


@cache
def _written_there() -> re.Pattern[str]:
    """What stands behind an attribute that is assigned, or that something is put into."""
    return re.compile(rf"[ \t]*(?:\[[^\]\n]*\][ \t]*)?(?:[-+*/%@&|^]?(?:{_ASSIGNS_OR_FILLS}))")


_MAX_OWNER = 100  # characters of an expression before an attribute that are looked at


def others_write(text: str, name: str) -> bool:
    """True if an attribute of this name is assigned or filled on anything but `self`: in `loop.state.output = x`, and
    `self.state.output = x`."""
    dotted = f".{name}"
    at = text.find(dotted)
    while at != -1:
        end = at + len(dotted)
        if _written_there().match(text, end):
            owner = re.split(r"[^\w.]", text[max(0, at - _MAX_OWNER) : at])[-1]
            if owner not in ("self", "cls"):
                return True
        at = text.find(dotted, end)
    return False
