"""Text as a terminal shows it: in colour, with what would move the cursor made visible, and how many cells it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tonumpy.text.visible import without_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
RED, GREEN, BLUE, CYAN = "\033[1;31m", "\033[1;32m", "\033[1;34m", "\033[36m"

_COLOURS = r"\033\[[0-9;]*m"  # none of these is compiled before it is needed: start-up
_TAB = "    "
_JOINER, _AS_PICTURE = "\u200d", "\ufe0f"
_BREAKS = (0x1C, 0x1D, 0x1E, 0x1F, 0x85, 0x2028, 0x2029)
_VOWELS_AND_FINALS = range(0x1160, 0x1200)  # of Hangul, which join the consonant before them


def without_colour(text: str) -> str:
    return re.sub(_COLOURS, "", text) if text else text


def shown(text: str) -> str:
    """A line of source with spaces for tabs, and pictures or escapes for what is no character of its own."""
    text = without_commands(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else _visible(character) for character in text)


def _visible(character: str) -> str:
    if character == "\t":
        return _TAB
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # a picture of it
    if code == 0x7F:
        return "\u2421"
    if character.isspace() and code not in _BREAKS:
        return " "
    return character if character == _JOINER else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """The cells that a text takes once it is `shown`: two for a wide character, none for one that joins another."""
    if text.isascii():
        return len(text)
    cells = last = 0
    joined = False
    for character in text:
        if character == _AS_PICTURE and last == 1:
            cells, last = cells + 1, 2
            continue
        taken = 0 if joined else _cells(character)
        joined = character == _JOINER
        cells += taken
        last = taken or last
    return cells


def _cells(character: str) -> int:
    from unicodedata import category, east_asian_width  # only for what is not ASCII: start-up

    if category(character) in ("Mn", "Me", "Cf") or ord(character) in _VOWELS_AND_FINALS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


_HEADING = r"(?m)^#+ (.*)$"
_CODE_BLOCK = r"(?ms)^```\w*\n(.*?)^```$"
_CODE = r"`([^`\n]+)`"


def markdown(page: str) -> str:
    """A page in colours: headings bold, code in cyan."""
    pieces, at = [], 0
    for block in re.finditer(_CODE_BLOCK, page):
        pieces.append(_prose(page[at : block.start()]))
        pieces.append("".join(f"{CYAN}    {line}{PLAIN}\n" if line else "\n" for line in block[1].splitlines()))
        at = block.end() + 1
    return "".join((*pieces, _prose(page[at:])))


def _prose(text: str) -> str:
    text = re.sub(_HEADING, lambda heading: f"{BOLD}{heading[1].replace('`', '')}{PLAIN}", text)
    return re.sub(_CODE, lambda code: f"{CYAN}{code[1]}{PLAIN}", text)


_IN_A_DIFF = {b"-": RED, b"+": GREEN, b"@": CYAN}


def coloured_diff(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a unified diff in colours."""
    for line in lines:
        colour = BOLD if line.startswith((b"--- ", b"+++ ")) else _IN_A_DIFF.get(line[:1], "")
        text = line.rstrip(b"\r\n")
        yield colour.encode() + text + PLAIN.encode() + line[len(text) :] if colour else line
