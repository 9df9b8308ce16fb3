"""Shows what a text of somebody else's holds, on one line and without commands to a terminal or to a runner of CI."""

from __future__ import annotations

from functools import cache

# Control characters, what ends a line, what turns the direction of writing, and what is not seen at all.
_HIDDEN = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    0x61C,
    0x115F,
    0x1160,
    0x180E,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0x3164,
    0xFEFF,
    0xFFA0,
    *range(0xFFF9, 0xFFFC),
    0xFFFE,
    0xFFFF,
    *range(0xE0000, 0xE0080),
)
_MARK = "##"  # of a command to Azure Pipelines (`##vso[`) or to GitHub Actions (`##[`), which both find it anywhere


def visible(text: str) -> str:
    """With the characters that would not be seen as they are written in Python: a newline as backslash and n."""
    text = without_commands(text)
    return text if text.isascii() and text.isprintable() else text.translate(_shown())


@cache
def _shown() -> dict[int, str]:  # only where there is something hidden: start-up
    return {code: chr(code).encode("unicode_escape").decode() for code in _HIDDEN}


def visible_path(path: str) -> str:
    """That of a file at the beginning of a line, where GitHub Actions would take `::` for a command."""
    path = visible(path)
    return f"./{path}" if path.lstrip().startswith("::") else path


def without_commands(text: str) -> str:
    """With the marks of commands that a runner of CI finds anywhere in what is printed written otherwise."""
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}[", "#\\x23[").replace(f"{_MARK}vso[", "#\\x23vso[")


def without_surrogates(text: str) -> str:
    """With a question mark for each byte of a name that was no text: JSON has no way to write one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
