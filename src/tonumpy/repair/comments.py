"""Adds `# noqa` comments to a text, or removes unused codes from them; verified not to change the tree."""

from collections.abc import Iterable, Sequence

from tonumpy.findings import Edit, Finding, SourceError
from tonumpy.repair.rewrite import MismatchError, RewriteError, apply_edits, match_trees
from tonumpy.text.noqa import Line, NoqaComment, lines_of
from tonumpy.text.source import Source, parse


def with_noqa(source: Source, findings: Sequence[Finding]) -> Source:
    """The source with a comment for each finding, in the line's existing comment or at the end of the line.

    SourceError if the file cannot be tokenized, so that flake8 could not assign comments to lines.
    """
    lines = lines_of(source)
    if lines is None:
        raise SourceError(source.filename, "no comments added: Python cannot tokenize the file")
    edits = []
    for line in lines:
        first, last = line.rows
        codes = sorted({each.code for each in findings if first <= each.start.row <= last})
        if codes:
            edits.append(_addition(source, line, codes))
    text = apply_edits(source, edits)
    verify_comments(source, text)
    return source.edited(text, edits)


def verify_comments(source: Source, text: str) -> None:
    """Raise RewriteError unless the new text parses to the old tree."""
    try:
        match_trees(source.tree, parse(text, source.filename), ())
    except (MismatchError, SourceError) as error:
        raise RewriteError(source.filename, f"a comment changes more than comments: {error}") from error


def _addition(source: Source, line: Line, codes: Iterable[str]) -> Edit:
    if line.comments:
        comment = line.comments[0]
        named = {source.text[code.start : code.end] for code in comment.codes}  # `tnp101` silences nothing
        place = source.position_at(comment.end)
        return Edit(place, place, "".join(f", {code}" for code in codes if code not in named))
    row = line.rows[1]
    end = source.line_starts[row - 1] + len(source.line(row).rstrip("\r\n"))
    place = source.position_at(end)
    return Edit(place, place, f"  # noqa: {', '.join(codes)}")


def removal(source: Source, comment: NoqaComment, unused: Sequence[str]) -> tuple[Edit, ...]:
    """The edit that removes codes from a comment, or the whole comment if no code and no text is left."""
    out = set(unused)
    kept = [code for code in comment.codes if code.code not in out]
    if kept:
        codes = ", ".join(source.text[code.start : code.end] for code in kept)
        return (_edit(source, comment.codes[0].start, comment.end, codes),)
    if source.text[comment.end : comment.stop].strip(" \t:-"):
        rest = source.text[comment.end : comment.stop]  # a reason, which is kept
        return (_edit(source, comment.start, comment.stop - len(rest.lstrip(" \t:-")), "# "),)
    row = source.position_at(comment.start).row
    begin, line = source.line_starts[row - 1], source.removable_line(row)
    before = source.text[begin : comment.start]
    if before.strip():
        return (_edit(source, begin + len(before.rstrip()), comment.stop, ""),)
    return (_edit(source, begin, begin + len(line), ""),)


def _edit(source: Source, start: int, end: int, content: str) -> Edit:
    return Edit(source.position_at(start), source.position_at(end), content)
