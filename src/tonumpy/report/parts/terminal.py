"""Prepares text for a terminal: colours, escapes for control characters, and the number of cells that a text takes."""

import re
from collections.abc import Iterable, Iterator

from tonumpy.text.visible import visible

BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
RED, GREEN, BLUE, CYAN = "\033[1;31m", "\033[1;32m", "\033[1;34m", "\033[36m"

_COLOURS = r"\033\[[0-9;]*m"  # these are compiled only when needed: start-up
_TAB = "    "


def without_colour(text: str) -> str:
    return re.sub(_COLOURS, "", text) if text else text


def shown(text: str) -> str:
    """A line of source with spaces for tabs, and escapes for unprintable characters."""
    return visible(text.replace("\t", _TAB))


def width(text: str) -> int:
    """The cells that a `shown` text takes: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    from unicodedata import category, east_asian_width  # only for what is not ASCII: start-up

    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


_HEADING = r"(?m)^#+ (.*)$"
_CODE_BLOCK = r"(?ms)^```\w*\n(.*?)^```$"
_CODE = r"`([^`\n]+)`"


def markdown(page: str) -> str:
    """A Markdown page in colours: headings bold, code in cyan."""
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
