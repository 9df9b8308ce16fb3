"""The `# noqa: CODE` comments of a source and the rows that each of them speaks for, as flake8 joins rows."""

import io
import re
import tokenize
from typing import NamedTuple

from tonumpy.text.source import Source

_NOQA = re.compile(r"# noqa:\s?(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)


class Code(NamedTuple):
    """A code of a comment, in upper case, and where it stands in the text."""

    code: str
    start: int
    end: int


class NoqaComment(NamedTuple):
    """A comment that names codes; `end` is that of its last code, `stop` that of what stands behind it in its line."""

    rows: tuple[int, int]
    start: int
    end: int
    stop: int
    codes: tuple[Code, ...]


class Line(NamedTuple):
    """Rows for which one comment speaks, with the comments in them."""

    rows: tuple[int, int]
    comments: tuple[NoqaComment, ...]


def lines_of(source: Source) -> list[Line] | None:
    """The rows of a source that flake8 takes together, a line or a string over several; None where it cannot tell."""
    found = []
    first, last, tokens = 0, 0, []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text, newline=None).readline):
            if token.type in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            first, last = min(first or token.start[0], token.start[0]), max(last, token.end[0])
            tokens.append(token)
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                found.append(Line((first, last), tuple(_comments(source, tokens, (first, last)))))
                first, last, tokens = 0, 0, []
    except (tokenize.TokenError, SyntaxError):
        return None
    return found


def _comments(source: Source, tokens: list[tokenize.TokenInfo], rows: tuple[int, int]) -> list[NoqaComment]:
    found = []
    for token in tokens:
        match = _NOQA.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            at = source.line_starts[token.start[0] - 1] + token.start[1]
            codes = tuple(
                Code(code[0].upper(), at + match.start("codes") + code.start(), at + match.start("codes") + code.end())
                for code in _CODE.finditer(match["codes"])
            )
            found.append(NoqaComment(rows, at + match.start(), at + match.end(), at + len(token.string), codes))
    return found
