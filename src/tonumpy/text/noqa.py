"""Reads the `# noqa` comments of a source, and drops the findings that they suppress, by flake8's own code."""

import io
import re
import tokenize
from collections.abc import Sequence
from typing import NamedTuple

from tonumpy.findings import Finding
from tonumpy.text.source import Source

_NOQA = re.compile("noqa", re.IGNORECASE)
_COMMENT = re.compile(r"# noqa:\s?(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)
_MANY = 300  # blanks: more than any indentation
_BLANKS = re.compile(rf"[ \t]{{{_MANY},}}")


def suppress(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that no `# noqa` comment suppresses. flake8 is imported only if there are such comments: it costs as
    much as a whole run."""
    if not findings or _NOQA.search(source.text) is None:
        return list(findings)
    from argparse import Namespace

    from flake8.processor import FileProcessor
    from flake8.violation import Violation

    # The time of flake8's patterns is quadratic in the length of a run of blanks.
    text = _BLANKS.sub(" " * _MANY, source.text)
    lines = io.StringIO(text, newline=None).readlines()  # flake8 reads with universal newlines too
    options = Namespace(
        disable_noqa=False, hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0
    )
    processor = FileProcessor(source.filename, options, lines)
    if processor.should_ignore_file():
        return []
    kept = []
    ignored: dict[tuple[str, str], bool] = {}  # by line and code: a line may have many findings, and name many codes
    for finding in findings:
        row, column = finding.start
        line = processor.noqa_line_for(row)
        if line is None:  # the text cannot be tokenized, and flake8 falls back to the line alone
            line = lines[row - 1]
        key = (line, finding.code)
        if key not in ignored:
            violation = Violation(finding.code, source.filename, row, column, finding.message, line)
            ignored[key] = violation.is_inline_ignored(False)
        if not ignored[key]:
            kept.append(finding)
    return kept


class Code(NamedTuple):
    """A code in a comment, in upper case, and its offsets in the text."""

    code: str
    start: int
    end: int


class NoqaComment(NamedTuple):
    """A `# noqa` comment with codes, by offsets; `end` is the end of its last code, `stop` that of the line's text."""

    start: int
    end: int
    stop: int
    codes: tuple[Code, ...]


class Line(NamedTuple):
    """The rows of one logical line, to which a comment in any of them applies, with these comments."""

    rows: tuple[int, int]
    comments: tuple[NoqaComment, ...]


def lines_of(source: Source) -> list[Line] | None:
    """The logical lines of a source, as flake8 joins rows; None if the source cannot be tokenized."""
    found = []
    tokens: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text, newline=None).readline):
            if token.type not in (tokenize.ENDMARKER, tokenize.DEDENT):
                tokens.append(token)
            if token.type in (tokenize.NL, tokenize.NEWLINE):
                found.append(Line((tokens[0].start[0], token.end[0]), tuple(_comments(source, tokens))))
                tokens = []
    except (tokenize.TokenError, SyntaxError):
        return None
    return found


def _comments(source: Source, tokens: list[tokenize.TokenInfo]) -> list[NoqaComment]:
    found = []
    for token in tokens:
        match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            at = source.line_starts[token.start[0] - 1] + token.start[1]
            codes = tuple(
                Code(code[0].upper(), at + match.start("codes") + code.start(), at + match.start("codes") + code.end())
                for code in _CODE.finditer(match["codes"])
            )
            found.append(NoqaComment(at + match.start(), at + match.end(), at + len(token.string), codes))
    return found
