"""Other orders of the functions of a module, and of the methods of its classes: the same program, written otherwise."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Permuted(NamedTuple):
    """Another text of a module, and for each of its rows, which counts from 1, the one that it had before."""

    text: str
    rows: tuple[int, ...]

    def row_before(self, row: int) -> int:
        return self.rows[row - 1] if row <= len(self.rows) else row


def with_rows(message: str, row_before: Callable[[int], int]) -> str:
    """A message that speaks of the rows as they were before."""
    return re.sub(r"\blines? \d+(?:(?:, | and )\d+)*", lambda found: _with_rows(found[0], row_before), message)


def _with_rows(words: str, row_before: Callable[[int], int]) -> str:
    rows = iter(sorted(row_before(int(row)) for row in re.findall(r"\d+", words)))
    return re.sub(r"\d+", lambda _: str(next(rows)), words)


def permuted(text: str, shuffle: Callable[[list[range]], object]) -> Permuted | None:
    """The functions and methods that stand beside each other in an order that `shuffle` makes; None where there are no
    two, or where the text cannot be parsed. Those that are run when others are defined, and overloads, keep theirs."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = text.splitlines(keepends=True)
    if len(lines) != text.count("\n") + (not text.endswith("\n")):
        return None  # a form feed, or another end of a line, that Python counts otherwise
    rows = list(range(1, len(lines) + 1))
    changed = False
    for run in _runs(tree):
        parts = _parts(run, lines)
        if parts is None:
            continue
        first, last = parts[0].start, parts[-1].stop
        shuffle(parts)
        rows[first - 1 : last - 1] = [row for part in parts for row in part]
        changed = True
    if not changed:
        return None
    return Permuted("".join(lines[row - 1] for row in rows), tuple(rows))


def _runs(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The functions that stand beside each other, in the module or in a class: methods first, as they are inside."""
    bodies = [tree.body, *(each.body for each in tree.body if isinstance(each, ast.ClassDef))]
    for body in reversed(bodies):
        run: list[ast.stmt] = []
        for statement in (*body, None):
            if isinstance(statement, _FUNCTIONS):
                run.append(statement)
                continue
            names = {each.name for each in run if isinstance(each, _FUNCTIONS)}
            if len(run) > 1 and len(names) == len(run) and names.isdisjoint(_names_at_definition(run)):
                yield run
            run = []


def _names_at_definition(run: list[ast.stmt]) -> set[str]:
    """What is read when the functions are defined: decorators, defaults and annotations."""
    found: set[str] = set()
    for each in run:
        assert isinstance(each, _FUNCTIONS)
        for part in (*each.decorator_list, each.args, *([each.returns] if each.returns else [])):
            found |= {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return found


def _parts(run: list[ast.stmt], lines: list[str]) -> list[range] | None:
    """The rows of each function with what stands before it; None where one shares a line with something else."""
    parts: list[range] = []
    for each in run:
        assert isinstance(each, _FUNCTIONS)
        start = min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)])
        end = (each.end_lineno or 0) + 1
        if not lines[end - 2].endswith("\n") or (parts and start < parts[-1].stop):
            return None
        parts.append(range(parts[-1].stop if parts else start, end))
    return parts
