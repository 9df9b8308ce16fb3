"""Applies the edits of repairs to a text, and verifies the result against the old tree."""

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tonumpy.findings import Edit, SourceError
from tonumpy.repair.operations import AddCopy, Operation
from tonumpy.text.source import Source, parse


class RewriteError(SourceError):
    """A rewrite that failed its verification; nothing of it may be written."""

    def __init__(self, filename: str, reason: str) -> None:
        super().__init__(filename, f"not rewritten because of a bug in tonumpy, please report it: {reason}")


class Repair(NamedTuple):
    """The operations on a tree, none for a comment, and the edits that perform them."""

    operations: tuple[Operation, ...]
    edits: tuple[Edit, ...]


def rewrite(source: Source, repairs: Sequence[Repair]) -> str:
    """Apply the edits of the repairs; RewriteError if the new text is not exactly what the operations intend.

    SourceError if the text cannot be parsed in full, or re-encoding may change bytes outside the edits.
    """
    if not source.survives_encoding:
        raise SourceError(source.filename, f"cannot be rewritten: {source.encoding} does not give back the same bytes")
    edits = sorted({edit for repair in repairs for edit in repair.edits})
    text = apply_edits(source, edits)
    verify(source, text, repairs)
    return text


def apply_edits(source: Source, edits: Iterable[Edit]) -> str:
    """The text with the edits made, which are given in source order."""
    pieces, at = [], 0
    for edit in edits:
        start, end = source.offset(edit.start), source.offset(edit.end)
        if not at <= start <= end:
            raise RewriteError(source.filename, f"edits overlap at {edit.start.row}:{edit.start.column}")
        pieces += [source.text[at:start], edit.content]
        at = end
    return "".join((*pieces, source.text[at:]))


def verify(source: Source, text: str, repairs: Sequence[Repair]) -> None:
    """Raise RewriteError unless

    - every character outside the edits is unchanged,
    - the new text parses, and its tree is the old one with exactly the operations of the repairs applied.
    """
    try:
        _compare_outside(source, text, repairs)
        operations = [operation for repair in repairs for operation in repair.operations]
        match_trees(source.tree, parse(text, source.filename), operations)
    except MismatchError as error:
        raise RewriteError(source.filename, str(error)) from error
    except SourceError as error:
        place = f" (at {error.position.row}:{error.position.column} of the new text)" if error.position else ""
        raise RewriteError(source.filename, f"the new text {error.reason}{place}") from error


class MismatchError(Exception):
    """A new text is not as intended; the message says where and how."""


def _compare_outside(source: Source, text: str, repairs: Sequence[Repair]) -> None:
    old_at = new_at = 0
    edits = {edit for repair in repairs for edit in repair.edits}
    for start, end, content in sorted((source.offset(e.start), source.offset(e.end), e.content) for e in edits):
        kept = source.text[old_at:start]
        if not text.startswith(kept + content, new_at):
            raise MismatchError(f"the text changes outside the edits, before row {source.position_at(start).row}")
        old_at, new_at = end, new_at + len(kept) + len(content)
    if text[new_at:] != source.text[old_at:]:
        raise MismatchError("the text changes outside the edits, after the last of them")


def match_trees(old: ast.AST, new: ast.AST, operations: Iterable[Operation]) -> None:
    """Walk both trees in parallel; MismatchError if `new` is not `old` with the operations applied.

    No recursion: a tree may be deeper than Python's stack.
    """
    planned: dict[ast.AST, list[Operation]] = {}
    # Two chains may have a link in common.
    unique = {(type(operation), operation): operation for operation in operations}
    for operation in sorted(unique.values(), key=_goes_around):
        planned.setdefault(operation.subject, []).append(operation)
    waiting: list[tuple[object, object]] = [(old, new)]
    while waiting:
        was, now = waiting.pop()
        if not isinstance(was, ast.AST) or not isinstance(now, ast.AST):
            waiting += _pairs_of_items(was, now)
        elif planned.get(was):
            waiting.append((planned[was].pop().made, now))
        elif type(was) is not type(now):
            raise MismatchError(f"{_name(now)} for {_name(was)}")
        else:
            waiting.extend((getattr(was, field, None), getattr(now, field, None)) for field in was._fields)
    if any(planned.values()):
        raise MismatchError("a repair is of no part of this tree")


def _pairs_of_items(was: object, now: object) -> list[tuple[object, object]]:
    """The pairs of items of two lists; MismatchError if the lists differ in length, or other values differ."""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return list(zip(was, now, strict=True))
    if type(was) is not type(now) or was != now:
        raise MismatchError(f"the new tree has {now!r} for {was!r}")
    return []


def _goes_around(operation: Operation) -> bool:
    """True if an operation wraps its node, and so must be matched before another operation on that node."""
    return isinstance(operation, AddCopy)


def _name(node: ast.AST) -> str:
    row = getattr(node, "lineno", None)
    return type(node).__name__ + (f" at row {row}" if row else "")
