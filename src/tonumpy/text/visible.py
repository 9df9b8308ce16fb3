"""Escapes foreign text for output: on one line, without commands to a terminal or to a CI runner."""

from __future__ import annotations

_MARK = "##"  # begins a command to Azure Pipelines (`##vso[`) or GitHub Actions (`##[`), which find it anywhere


def visible(text: str) -> str:
    """Escape unprintable characters as Python does: a newline becomes backslash and n."""
    text = without_commands(text)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def visible_path(path: str) -> str:
    """A file's path to begin a line with, where GitHub Actions would take `::` for a command."""
    path = visible(path)
    return f"./{path}" if path.lstrip().startswith("::") else path


def without_commands(text: str) -> str:
    """Escape the marks of commands that a CI runner finds anywhere in the output."""
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}[", "#\\x23[").replace(f"{_MARK}vso[", "#\\x23vso[")


def without_surrogates(text: str) -> str:
    """Replace each undecodable byte of a file name, a surrogate, which JSON cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
