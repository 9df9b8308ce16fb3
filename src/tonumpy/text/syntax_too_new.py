"""From a line at which the parser gave up to the construct of a newer Python that stands there, for the error
message."""

from __future__ import annotations

import re
from typing import NamedTuple


class Construct(NamedTuple):
    """`shape` is looked for in the line; the parser's own `message` must begin so, where it gives one."""

    version: tuple[int, int]
    name: str
    shape: str
    message: str = ""


_CONSTRUCTS = (
    Construct((3, 11), "`except*`", r"\s*except\s*\*"),
    Construct((3, 11), "a star in a subscript", r".*\w\[(?:[^\]]*,)?\s*\*\w"),
    Construct((3, 13), "a default of a type parameter", r"\s*(?:async\s+def|def|class|type)\s+\w+\s*\[[^\]=]*="),
    Construct((3, 12), "a `type` statement", r"\s*type\s+\w+\s*(?:\[.*\])?\s*="),
    Construct((3, 12), "a list of type parameters", r"\s*(?:async\s+def|def|class)\s+\w+\s*\["),
    Construct((3, 12), "a quote or a backslash inside an f-string's braces", r"", "f-string expression part cannot"),
    Construct(
        (3, 12), "a quote inside an f-string's braces", r".*\b[fF][rR]?(?P<quote>[\"'])[^\"']*\{[^}]*(?P=quote)[^}]*\}"
    ),
    # In Python 2, `except Error, name:` gave the error a name: a second type begins with a capital letter.
    Construct((3, 14), "`except` without brackets", r"\s*except\s+[\w.]+(?:\s*,\s*(?:\w+\.)*[A-Z]\w*)+\s*:"),
    Construct((3, 14), "a template string", r".*(?<![\w\"'])(?:[tT][rR]?|[rR][tT])[\"']"),
)


_MOST = 500  # characters that are looked through: the time may grow with their third power


def construct_too_new(line: str, message: str, running: tuple[int, int]) -> str | None:
    """`line` is the whole physical line at which the parser of Python `running` gave up, saying `message`."""
    line = line[:_MOST]
    for construct in _CONSTRUCTS:
        if construct.version > running and message.startswith(construct.message) and re.match(construct.shape, line):
            needed, here = (f"{major}.{minor}" for major, minor in (construct.version, running))
            return f"{construct.name} needs Python {needed} or newer, and tonumpy runs on {here}"
    return None
