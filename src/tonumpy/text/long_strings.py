"""Finds the triple-quoted strings in a part of a text without parsing it, or says that this is uncertain.

They are what hides the lines of a file from those who look for definitions without parsing it: only in such a string
does a line begin that is no code, but for one after a backslash.
"""

from __future__ import annotations

import re

_QUOTES = ('"""', "'''")
_STRING = r"""\"[^"\\\n]*(?:\\.[^"\\\n]*)*\"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"""
_SHORT = re.compile(_STRING)
_SHORT_OR_COMMENT = re.compile(rf"""{_STRING}|[#"']""")


def long_strings(text: str, start: int, stop: int) -> list[tuple[int, int]] | None:
    """Their offsets, from quote to behind the last quote, in order; None where the quotes do not tell.

    At `start` begins code. Only the quotes and what stands before them on their lines is read.
    """
    found = []
    places = [text.find(quote, start, stop) for quote in _QUOTES]
    while places != [-1, -1]:
        which = 0 if places[1] == -1 or -1 < places[0] < places[1] else 1
        at = places[which]
        line = text.rfind("\n", start, at) + 1 or start
        before, is_comment, _ = _SHORT.sub("", text[line:at]).partition("#")
        if '"' in before or "'" in before or (line > start and text[line - 2] == "\\"):
            return None
        if is_comment:
            start = text.find("\n", at, stop)
            if start == -1:
                break
        else:
            start = _end_of_string(text, at, stop, _QUOTES[which])
            if start == -1:
                return None
            found.append((at, start))
        places = [
            place if place == -1 or place >= start else text.find(quote, start, stop)
            for place, quote in zip(places, _QUOTES, strict=True)
        ]
    return found


def _end_of_string(text: str, at: int, stop: int, quote: str) -> int:
    end = text.find(quote, at + 3, stop)
    while end != -1 and _is_escaped(text, at + 3, end):
        end = text.find(quote, end + 1, stop)
    return -1 if end == -1 else end + 3


def _is_escaped(text: str, start: int, place: int) -> bool:
    before = place
    while before > start and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1


def comment_in_line(text: str, start: int, stop: int) -> int | None:
    """Where the comment begins in what is left of a line, no long string in it; -1 for none, None where uncertain."""
    if text.find("#", start, stop) == -1:
        return -1
    for match in _SHORT_OR_COMMENT.finditer(text, start, stop):
        if match[0] == "#":
            return match.start()
        if len(match[0]) == 1:
            return None
    return -1


_NO_CODE = re.compile(r"(?<=\n)(?:[ \t]*(?:#[^\n]*)?\n)+")  # lines


def code_lines(text: str) -> str:
    """Without the lines that are blank or hold a comment alone, as far as it is certain which these are."""
    text = f"\n{text}\n"
    strings = long_strings(text, 0, len(text))
    if strings is None or "\\\n" in text:
        return text
    pieces: list[str] = []
    at = 0
    for start, stop in strings:
        pieces += (_NO_CODE.sub("", text[at:start]), text[start:stop])
        at = stop
    return "".join((*pieces, _NO_CODE.sub("", text[at:])))
