"""Transfer functions of `case` patterns: from subject and pattern to bound names and narrowed values."""

from __future__ import annotations

import ast

from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import Sequence, Unknown, Value
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.narrowing import classes_asked_for, current_value, narrow_by_classes, narrow_by_one_of


def narrow_by_pattern(frame: Frame, subject: ast.expr, pattern: ast.pattern, holds: bool) -> None:
    """What a `case` shows that compares its subject with one value, or with several: `case "cuda" | "mps"`."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        pattern = pattern.pattern
    patterns = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    values = [each.value for each in patterns if isinstance(each, ast.MatchValue)]
    if len(values) == len(patterns):
        narrow_by_one_of(frame, subject, values, holds)


def pattern_value(frame: Frame, node: ast.expr, subject: Value, pattern: ast.pattern) -> None:
    """Bind the names of a `case` pattern, and refine the subject by its class."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            pattern_value(frame, node, subject, pattern.pattern)
        if pattern.name is not None:
            current = current_value(frame, node)
            frame.bind(pattern.name, subject if current is None else current[1])
    elif isinstance(pattern, ast.MatchClass):
        classes = classes_asked_for(frame, pattern.cls)
        current = current_value(frame, node)
        if current is not None:
            narrow_by_classes(frame, *current, classes, True)
        for part in (*pattern.patterns, *pattern.kwd_patterns):
            _bind_unknown(frame, part)
    elif isinstance(pattern, ast.MatchOr):
        for part in pattern.patterns:
            _bind_unknown(frame, part)
    elif isinstance(pattern, ast.MatchSequence):
        for index, part in enumerate(pattern.patterns):
            items = subject.items if isinstance(subject, Sequence) else None
            if (
                items is not None
                and len(items) == len(pattern.patterns)
                and isinstance(part, ast.MatchAs)
                and part.name
            ):
                frame.bind(part.name, items[index])
            else:
                _bind_unknown(frame, part)
    else:
        _bind_unknown(frame, pattern)


def _bind_unknown(frame: Frame, pattern: ast.pattern) -> None:
    for inner in ast.walk(pattern):
        for name in (getattr(inner, "name", None), getattr(inner, "rest", None)):
            if isinstance(name, str):
                frame.bind(name, Unknown(Reason.CONTENT))
