"""Words for messages about what is not known or not right."""

from collections.abc import Sequence


def suggestion(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the known word that was meant, or else all of them."""
    from difflib import get_close_matches

    matches = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), matches, n=1)
    if close:
        return f"; did you mean `{matches[close[0]]}`?"
    return f"; known are {', '.join(f'`{name}`' for name in known)}"


def either(words: Sequence[str]) -> str:
    """`high, medium or low`"""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def shown(value: object) -> str:
    """A value as TOML writes it, near enough for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
