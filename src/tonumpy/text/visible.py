"""Shows what a text of somebody else's holds, on one line and without commands to a terminal."""

from __future__ import annotations

# Control characters, what ends a line, what turns the direction of writing, and what is not seen at all.
_HIDDEN = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
)
_SHOWN = {code: repr(chr(code))[1:-1] if code < 0x100 else f"\\u{code:04x}" for code in _HIDDEN}


def visible(text: str) -> str:
    """With the characters that would not be seen as they are written in Python: a newline as backslash and n."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def without_surrogates(text: str) -> str:
    """With a question mark for each byte of a name that was no text: JSON has no way to write one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
