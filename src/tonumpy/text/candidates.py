"""Finds the calls `receiver.numpy(...)` of a source, each with its chain of links and the scopes that enclose it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from tonumpy.findings import Position
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import CANDIDATE, UNBOUND
from tonumpy.text.source import Source
from tonumpy.text.syntax import children_of

_Statement = TypeVar("_Statement", bound=ast.stmt)

# Python 3.14 and later have template strings, too.
_STRINGS = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))
Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def class_around(scopes: Sequence[ast.AST]) -> ast.ClassDef | None:
    """The class whose body directly contains the innermost scope; None if there is none."""
    around = scopes[-2] if len(scopes) > 1 else None
    return around if isinstance(around, ast.ClassDef) else None


class Guard(NamedTuple):
    """`if flag:` (or `if not flag:`) around a candidate: the name of the flag and its truth there."""

    name: str
    truth: bool


class Candidate(NamedTuple):
    """A call `receiver.numpy(...)`.

    `scopes` are the enclosing module, classes and functions, outermost first, without lambdas and comprehensions.
    `guards` are the flags tested by enclosing conditions, within the innermost function.
    `statement` is the innermost statement that contains it (for a condition, the whole `if` or loop).
    `string` is the f-string that contains the call: before Python 3.12 positions inside it may be wrong; or the
    template string, which also keeps the source text of the call.
    """

    call: ast.Call
    attribute: ast.Attribute
    scopes: tuple[Scope, ...]
    guards: tuple[Guard, ...]
    statement: ast.stmt
    string: ast.expr | None

    @property
    def receiver(self) -> ast.expr:
        return self.attribute.value

    @property
    def is_unbound(self) -> bool:
        """True if the method is taken from the class: `torch.Tensor.numpy(x)`, `map(torch.Tensor.numpy, xs)`.

        The call is then that of `map`, and the receiver is the class.
        """
        return self.call.func is not self.attribute or bool(self.call.args)

    @property
    def is_forced(self) -> bool:
        """True for `x.numpy(force=True)`, which detaches and copies to the CPU by itself."""
        given = [keyword.value for keyword in self.call.keywords if keyword.arg == "force"]
        return any(isinstance(value, ast.Constant) and value.value is True for value in given)

    @property
    def is_left_to_callers(self) -> bool:
        """True for `x.numpy(force=force)` with a parameter that the function never rebinds: the caller chooses."""
        given = [keyword.value for keyword in self.call.keywords if keyword.arg == "force"]
        function = self.scopes[-1]
        if not given or not isinstance(given[0], ast.Name) or not isinstance(function, _FUNCTIONS):
            return False
        name, taken = given[0].id, function.args
        parameters = (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)
        is_bound = any(isinstance(each, ast.Name) and each.id == name for each in _stored_in(function))
        return any(each.arg == name for each in parameters) and not is_bound


class Site(NamedTuple):
    """A call of any function; the fields for its place are those of Candidate."""

    call: ast.Call
    scopes: tuple[Scope, ...]
    guards: tuple[Guard, ...]
    statement: ast.stmt
    string: ast.expr | None


class OperationSite(NamedTuple):
    """An operator, an index or an assignment; the fields for its place are those of Candidate."""

    node: ast.expr | ast.AugAssign
    scopes: tuple[Scope, ...]
    guards: tuple[Guard, ...]
    statement: ast.stmt
    string: ast.expr | None

    @property
    def call(self) -> ast.expr | ast.AugAssign:
        """The node that is observed, under the name that call sites use."""
        return self.node


class ReturnSite(NamedTuple):
    """A `return` whose value the caller converts; the fields for its place are those of Candidate. `called_by`: the
    library function that calls the enclosing one."""

    call: ast.Return
    scopes: tuple[Scope, ...]
    guards: tuple[Guard, ...]
    statement: ast.stmt
    string: ast.expr | None
    called_by: str = ""


def find_candidates(source: Source) -> list[Candidate]:
    """All candidates of the file, in source order."""
    rows = sorted({*source.rows_with(CANDIDATE), *source.rows_with(UNBOUND)})
    sites = find_calls(source, rows, _may_convert)
    return [
        Candidate(site.call, attribute, site.scopes, site.guards, site.statement, site.string)
        for site in sites
        if (attribute := _unbound(site.call) or site.call.func) and isinstance(attribute, ast.Attribute)
    ]


def find_calls(source: Source, rows: list[int], is_wanted: Callable[[ast.Call], bool]) -> list[Site]:
    """The calls for which `is_wanted` is true, in source order.

    Enters only statements that span one of the rows (ascending): walking the whole tree adds two thirds to the time of
    the parse.
    """
    return _Search(rows, (ast.Call,), is_wanted, Site).of(source)


def find_operations(
    source: Source, rows: list[int], kinds: tuple[type[ast.AST], ...], is_wanted: Callable[[Any], bool]
) -> list[OperationSite]:
    """Find nodes of other kinds, as `find_calls` finds calls."""
    return _Search(rows, kinds, is_wanted, OperationSite).of(source)


def find_returns(source: Source, rows: list[int], is_wanted: Callable[[Any], bool]) -> list[ReturnSite]:
    """Find `return` statements, as `find_calls` finds calls."""
    return _Search(rows, (ast.Return,), is_wanted, ReturnSite).of(source)


def spans_any(statement: ast.stmt, rows: list[int]) -> bool:
    """True if one of the rows (ascending) is among the statement's."""
    at = bisect_left(rows, first_row(statement))
    return at < len(rows) and rows[at] <= last_row(statement)


def spanning(statements: list[_Statement], rows: list[int]) -> Iterator[_Statement]:
    """Yield the statements of a block for which `spans_any` is true, by bisection of both lists: a block of n
    statements may be searched for each of n names."""
    at = 0
    while at < len(statements):
        place = bisect_left(rows, first_row(statements[at]))
        if place == len(rows):
            return
        at = bisect_left(statements, rows[place], at, key=last_row)
        if at < len(statements) and first_row(statements[at]) <= rows[place]:
            yield statements[at]
            at += 1


class _Search:
    """A search for nodes of some kinds in the statements that span one of the rows (ascending)."""

    def __init__(
        self,
        rows: list[int],
        kinds: tuple[type[ast.AST], ...],
        is_wanted: Callable[[Any], bool],
        make: Callable[..., Site | OperationSite | ReturnSite],
    ) -> None:
        self._rows, self._kinds, self._is_wanted, self._make = rows, kinds, is_wanted, make
        self._found: list[Any] = []

    def of(self, source: Source) -> list[Any]:
        """The sites in a source, in source order."""
        if self._rows:
            self._in_block(source.tree.body, (source.tree,), ())
        return self._found

    def _in_block(self, statements: list[ast.stmt], scopes: tuple[Scope, ...], guards: tuple[Guard, ...]) -> None:
        for statement in spanning(statements, self._rows):
            for field, value in ast.iter_fields(statement):
                if field == "body" and isinstance(statement, (ast.ClassDef, *_FUNCTIONS)):
                    # Decorators, defaults, bases and annotations run in the enclosing scope.
                    self._in_field(value, (*scopes, statement), (), statement)
                else:
                    tested = _guards_of(statement.test, field) if isinstance(statement, ast.If) else ()
                    self._in_field(value, scopes, (*guards, *tested), statement)
            if isinstance(statement, self._kinds) and self._is_wanted(statement):
                self._found.append(self._make(statement, scopes, guards, statement, None))

    def _in_field(
        self, value: object, scopes: tuple[Scope, ...], guards: tuple[Guard, ...], statement: ast.stmt
    ) -> None:
        items: list[Any] = value if isinstance(value, list) else [value]
        if items and isinstance(items[0], ast.stmt):
            self._in_block(items, scopes, guards)
            return
        for item in items:
            if isinstance(item, (ast.ExceptHandler, ast.match_case)):
                for _, part in ast.iter_fields(item):
                    self._in_field(part, scopes, guards, statement)
            elif isinstance(item, ast.AST):
                self._in_expression(item, scopes, guards, statement)

    def _in_expression(
        self, root: ast.AST, scopes: tuple[Scope, ...], guards: tuple[Guard, ...], statement: ast.stmt
    ) -> None:
        """Search depth first and left to right, a call after its receiver and before its arguments."""
        stack: list[tuple[ast.AST, ast.expr | None, tuple[Guard, ...], bool]] = [(root, None, guards, False)]
        while stack:
            node, string, here, leaving = stack.pop()
            if leaving:
                self._found.append(self._make(node, scopes, here, statement, string))
                continue
            kind = node.__class__  # faster than isinstance
            if kind in _STRINGS and string is None:
                string = node  # type: ignore[assignment]
            children = children_of(node)
            if kind in self._kinds and self._is_wanted(node):
                stack += [(child, string, here, False) for child in reversed(children[1:])]
                stack += [(node, string, here, True), (children[0], string, here, False)]
            elif isinstance(node, ast.IfExp):
                stack.append((node.orelse, string, (*here, *_guards_of(node.test, "orelse")), False))
                stack.append((node.test, string, here, False))
                stack.append((node.body, string, (*here, *_guards_of(node.test, "body")), False))
            elif children:
                stack += [
                    (child, string, here, False) for child in reversed(children)
                ]  # a list, as a generator is a call for each


def _guards_of(test: ast.expr, field: str) -> tuple[Guard, ...]:
    """The flags that a test has decided in the `body` or `orelse` field of its statement."""
    if field not in ("body", "orelse"):
        return ()
    truth = field == "body"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if isinstance(test, ast.Name):
        return (Guard(test.id, truth),)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and truth and field == "body":
        return tuple(guard for part in test.values for guard in _guards_of(part, field))
    return ()


def _stored_in(function: ast.AST) -> list[ast.AST]:
    return [each for each in ast.walk(function) if isinstance(getattr(each, "ctx", None), ast.Store)]


def _may_convert(call: ast.Call) -> bool:
    """True for a call that may be of a tensor's `numpy`: that takes only `force`, by keyword."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not call.args:
        return all(keyword.arg in ("force", None) for keyword in call.keywords)
    return _unbound(call) is not None


def handed_over(call: ast.Call) -> ast.expr | None:
    """The function that `map(function, items)` or `executor.map(function, items)` calls with each item, or None."""
    is_map = last_name(call.func) == "map" and len(call.args) > 1 and not call.keywords
    return call.args[0] if is_map and not any(isinstance(each, ast.Starred) for each in call.args) else None


def _unbound(call: ast.Call) -> ast.Attribute | None:
    """The `Tensor.numpy` that a call invokes with its tensor, or passes to `map`; None for another call."""
    function = call.func if len(call.args) == 1 and not call.keywords else None
    for each in (function, handed_over(call)):
        if isinstance(each, ast.Attribute) and each.attr == "numpy" and last_name(each.value) == "Tensor":
            return each
    return None


def first_row(statement: ast.stmt) -> int:
    """The row where a statement starts, decorators included (`lineno` is that of `def` or `class`)."""
    decorators = getattr(statement, "decorator_list", None)
    return min(statement.lineno, decorators[0].lineno) if decorators else statement.lineno


def last_row(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def is_in_row(node: ast.expr | ast.stmt, row: int) -> bool:
    """True if the row is among the node's rows."""
    return node.lineno <= row <= (node.end_lineno or row)


def is_placed(candidate: Candidate, source: Source) -> bool:
    """True if ast's position of a candidate is right.

    It may be wrong for a name in non-normalised Unicode characters (ast normalises it), and inside an f-string in the
    first releases of Python 3.10 and 3.11, which confuse the positions of its expressions.
    """
    place = source.name_start(candidate.attribute)
    string = candidate.string
    if place is None or string is None:
        return place is not None
    is_inside = source.node_start(string) < place < source.node_end(string)
    return is_inside and _places_in(string, candidate.attribute.attr, source)[place] == 1


@lru_cache(maxsize=1)  # one string may contain many candidates
def _places_in(string: ast.expr, name: str, source: Source) -> Counter[Position | None]:
    """The number of attributes with this name at each position that ast gives."""
    attributes = [node for node in ast.walk(string) if isinstance(node, ast.Attribute)]
    return Counter(source.name_start(each) for each in attributes if each.attr == name)


def call_span(candidate: Candidate, source: Source) -> tuple[Position, Position]:
    """The span from the name `numpy` to the closing bracket; of the whole string or call if ast misplaces it."""
    start = source.name_start(candidate.attribute)
    if start is None or not is_placed(candidate, source):
        around = candidate.string or candidate.call
        return source.node_start(around), source.node_end(around)
    return start, source.node_end(candidate.call)
