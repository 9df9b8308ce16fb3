"""A source in; the calls `receiver.numpy(...)` out, each with its chain of links and the scopes that enclose it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from typing import NamedTuple

from tonumpy.source import CANDIDATE, Source

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Candidate(NamedTuple):
    """A call `receiver.numpy(...)`.

    `scopes` are the module, classes and functions around it, outermost first; lambdas and comprehensions are not among them.
    `statement` is the innermost statement that holds it (for a condition, the whole `if` or loop).
    `string` is the f-string that holds the call: before Python 3.12 the positions inside it cannot be trusted.
    """

    call: ast.Call
    attribute: ast.Attribute
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    string: ast.JoinedStr | None

    @property
    def receiver(self) -> ast.expr:
        return self.attribute.value

    @property
    def is_forced(self) -> bool:
        """`x.numpy(force=True)` (or `x.numpy(True)`) detaches and copies to the CPU by itself."""
        given = [keyword.value for keyword in self.call.keywords if keyword.arg == "force"] or self.call.args[:1]
        return any(isinstance(value, ast.Constant) and value.value is True for value in given)


def find_candidates(source: Source) -> list[Candidate]:
    """Every candidate of the file in the order of the text.

    Only statements that span a line with the text `.numpy(` are entered: a walk over the whole tree costs two thirds
    as much again as the parse.
    """
    rows = candidate_rows(source)
    found: list[Candidate] = []
    if rows:
        _search_block(source.tree.body, (source.tree,), rows, found)
    return found


def candidate_rows(source: Source) -> list[int]:
    """The rows (from 1, ascending) that hold the text `.numpy(`."""
    text, needle = source.text, CANDIDATE.decode()
    rows, at = [], text.find(needle)
    while at != -1:
        rows.append(source.position_at(at).row)
        at = text.find(needle, at + 1)
    return rows


def _search_block(
    statements: list[ast.stmt], scopes: tuple[Scope, ...], rows: list[int], found: list[Candidate]
) -> None:
    for statement in statements:
        first = bisect_left(rows, _first_row(statement))
        if first == len(rows) or rows[first] > (statement.end_lineno or statement.lineno):
            continue
        inner = (*scopes, statement) if isinstance(statement, (ast.ClassDef, *_FUNCTIONS)) else scopes
        for field, value in ast.iter_fields(statement):
            # Decorators, defaults, bases and annotations run in the scope outside.
            here = inner if field == "body" else scopes
            _search_field(value, here, statement, rows, found)


def _search_field(
    value: object, scopes: tuple[Scope, ...], statement: ast.stmt, rows: list[int], found: list[Candidate]
) -> None:
    if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
        _search_block(value, scopes, rows, found)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, (ast.ExceptHandler, ast.match_case)):
                for _, part in ast.iter_fields(item):
                    _search_field(part, scopes, statement, rows, found)
            elif isinstance(item, ast.AST):
                _search_expression(item, scopes, statement, found)
    elif isinstance(value, ast.AST):
        _search_expression(value, scopes, statement, found)


def _search_expression(
    root: ast.AST, scopes: tuple[Scope, ...], statement: ast.stmt, found: list[Candidate]
) -> None:
    """Depth first and left to right, the receiver of a call before the call: the order of the text."""
    stack: list[tuple[ast.AST, ast.JoinedStr | None, bool]] = [(root, None, False)]
    while stack:
        node, string, leaving = stack.pop()
        if leaving:
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            found.append(Candidate(node, node.func, scopes, statement, string))
            continue
        if isinstance(node, ast.JoinedStr) and string is None:
            string = node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
            stack.extend((child, string, False) for child in reversed(children[1:]))
            stack.append((node, string, True))
            stack.append((node.func, string, False))
        else:
            stack.extend((child, string, False) for child in reversed(children))


def _first_row(statement: ast.stmt) -> int:
    """The row where a statement starts, decorators included (`lineno` is that of `def` or `class`)."""
    decorators = getattr(statement, "decorator_list", None)
    return min(statement.lineno, decorators[0].lineno) if decorators else statement.lineno
