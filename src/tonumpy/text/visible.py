"""Shows what a text of somebody else's holds, on one line and without commands to a terminal or to a runner of CI."""

from __future__ import annotations

_MARK = "##"  # of a command to Azure Pipelines (`##vso[`) or to GitHub Actions (`##[`), which both find it anywhere


def visible(text: str) -> str:
    """Write characters that would not be seen as Python does: a newline as backslash and n."""
    text = without_commands(text)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def visible_path(path: str) -> str:
    """A file's path for the beginning of a line, where GitHub Actions would take `::` for a command."""
    path = visible(path)
    return f"./{path}" if path.lstrip().startswith("::") else path


def without_commands(text: str) -> str:
    """Change the marks of commands that a runner of CI finds anywhere in what is printed."""
    if _MARK not in text:
        return text
    return text.replace(f"{_MARK}[", "#\\x23[").replace(f"{_MARK}vso[", "#\\x23vso[")


def without_surrogates(text: str) -> str:
    """Put a question mark for each byte of a name that was no text: JSON has no way to write one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
