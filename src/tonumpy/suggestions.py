"""Words messages about unknown or invalid values."""

from collections.abc import Sequence


def suggestion(word: str, known: Sequence[str]) -> str:
    """The suffix of a message about an unknown word: the most similar known word, or else all of them."""
    from difflib import get_close_matches

    matches = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), matches, n=1)
    if close:
        return f"; did you mean `{matches[close[0]]}`?"
    return f"; known are {', '.join(f'`{name}`' for name in known)}"


def either(words: Sequence[str]) -> str:
    """The words as a choice: `high, medium or low`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def shown(value: object) -> str:
    """A value roughly as in TOML, for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
