"""From a source to what flows into each of its names and attributes, without regard to order or branches.

Functions are looked into only where something is asked that they say a word of: most of a file is never parsed.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS, may_turn_grad_on
from tonumpy.engine.knowledge.libraries.rows import gives_plain_values
from tonumpy.engine.names.bindings import arguments_of, imports_of, parameter_names
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.sinks.risk_parts import ANYWHERE, ITEM, part_given, part_written
from tonumpy.text.candidates import find_calls, first_row, last_row
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.sinks.risk_parts import Part
    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
    Unit = FunctionNode | None  # the outermost function around, whose inner ones share its names; None for the module
    # A value, where it is written, where it is put (None: it is all of it) and which part of it that is.
    Flow = tuple[ast.expr, Unit, Part, Part]
    _Held = tuple[int, int, ast.stmt, ast.ClassDef | None]  # rows, the definition, and the class around it

OWN = ("self", "cls")
HANDED_ON = ast.Constant(None)  # what stands for the arguments of unknown calls
# What goes through data with a function that it is given; nobody follows it there.
_GIVEN_TO_DATA = re.compile(r"\.(?:map|with_transform|set_transform|filter|sort|sorted)\($|\b(?:collate_fn|key)=$")
_LAST_WORD = re.compile(r"(\w+)[ \t]*(?::[^:]*)?$")
_MAX_LINE = 400  # characters beside a word that are looked at: a line may be as long as the file
# Methods that keep what they are given.
_PUTTING = re.compile(
    r"_?(add|append|extend|insert|update|put|push|store|setdefault|remember|collect|enqueue|register)"
)
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")


class RiskIndex:
    """Of one source. `flows` has names under a unit, and attributes, of whatever object, under None and with a dot."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.flows: dict[tuple[Unit, str], list[Flow]] = {}
        self.parameters: dict[tuple[Unit, str], list[FunctionNode]] = {}
        self.bound: set[tuple[Unit, str]] = set()
        self.functions: dict[str, list[tuple[FunctionNode, Unit]]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.class_of: dict[ast.AST, ast.ClassDef] = {}
        self.fields: dict[str, list[str]] = {}  # an attribute that classes declare, and their names
        self.plain: set[str] = set()  # imports that give no tensors
        self.numpy: set[str] = set()
        self.torch = {"torch", "F", "nn"}
        self._held: list[_Held] = []
        self._opened: set[ast.AST] = set()
        self._asked: set[str] = set()
        self._handed_on: dict[str, bool] = {}
        self._global: set[tuple[Unit, str]] = set()
        self._without_grad: list[tuple[int, int]] = []  # rows
        self._calls: dict[str, list[tuple[ast.Call, Unit]]] = {}
        self._in_expressions: dict[Unit, dict[str, list[tuple[ast.expr, Part]]]] = {}
        self._may_be_on = may_turn_grad_on(self.text)
        self._rows_of_lambdas = source.rows_with("lambda") if "_hook(" in self.text else []
        self._collect(source.tree.body, None, None)

    def unit_of(self, scopes: Iterable[Scope]) -> Unit:
        """The outermost function among some scopes, which is looked into."""
        unit = next((each for each in scopes if isinstance(each, FUNCTIONS)), None)
        if unit is not None:
            self._look_at(unit.lineno)
        return unit

    def into_name(self, name: str, unit: Unit) -> list[Flow]:
        """What flows into a variable but what a caller gives."""
        if (unit, name) in self._global:
            unit = None
        flows = list(self.flows.get((unit, name), ()))
        if (unit, name) in self.parameters:
            return flows
        if not flows and name not in self.plain and name not in self.torch:
            flows += ((each, unit, None, part) for each, part in self._bound_within(unit).get(name, ()))
        if unit is not None and (unit, name) not in self.bound and not (flows and self.flows.get((unit, name)) is None):
            self._look_for(name, _may_be_changed)
            flows += self.flows.get((None, name), ())
            found = self._bound_within(None).get(name, ()) if not flows else ()
            flows += ((each, None, None, part) for each, part in found)
        return flows

    def into_attribute(self, name: str) -> list[Flow]:
        """What flows into an attribute of this name, of whatever object."""
        self._look_for(name, _may_be_changed)
        return self.flows.get((None, f".{name}"), [])

    def returned(self, name: str) -> Iterator[Flow]:
        """What the functions of a name return, or give one by one."""
        self._look_for(f"def {name}")
        for function, unit in self.functions.get(name, ()):
            for statement in statements_of(function.body):
                if isinstance(statement, ast.Return) and statement.value is not None:
                    yield statement.value, unit, None, None
                elif isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Yield, ast.YieldFrom)):
                    yield statement.value.value or statement.value, unit, ITEM, None

    def class_named(self, name: str) -> ast.ClassDef | None:
        self._look_for(f"class {name}")
        return self.classes.get(name)

    def calls(self, name: str) -> list[tuple[ast.Call, Unit]]:
        """The calls of a name, and those that are given it."""
        if name not in self._calls:
            rows = sorted(set(self.source.rows_with_name(name)))
            sites = find_calls(self.source, rows, lambda call: _names(call, name))
            self._calls[name] = [(site.call, self.unit_of(site.scopes)) for site in sites]
        return self._calls[name]

    def is_handed_on(self, name: str) -> bool:
        """Whether a function is given to somebody, kept or returned, so that calls of it have another name."""
        if name not in self._handed_on:
            self._handed_on[name] = any(_is_handed_on(*around) for around in self._around(name))
        return self._handed_on[name]

    def objects_of(self, cls: str) -> list[str]:
        """The names, and attributes, that are given an object of a class."""
        around = [before.rpartition("=")[0] for before, after in self._around(cls) if after[:1] == "("]
        return [found[0] for before in around if (found := _LAST_WORD.findall(before))]

    def is_without_grad(self, row: int) -> bool:
        """Whether a row stands where grad mode is off."""
        return any(first <= row <= last for first, last in self._without_grad)

    def _look_for(self, words: str, is_meant: Callable[[str, str], bool] = lambda *_: True) -> None:
        """Look into the functions and classes that say something."""
        if words not in self._asked:
            self._asked.add(words)
            for row in [row for row, *around in self._lines(words) if is_meant(*around)]:
                self._look_at(row)

    def _around(self, word: str) -> list[tuple[str, str]]:
        """What stands in the line before and behind a word, wherever it stands by itself."""
        return [(before, after) for _, before, after in self._lines(word)]

    def _lines(self, word: str) -> Iterator[tuple[int, str, str]]:
        if not word:
            return
        text, at, length = self.text, self.text.find(word), len(word)
        while at != -1:
            if text[at - 1 : at] not in _WORD and text[at + length : at + length + 1] not in _WORD:
                row = bisect_right(self.source.line_starts, at)
                start = max(self.source.line_starts[row - 1], at - _MAX_LINE)
                end = text.find("\n", at, at + _MAX_LINE)
                yield row, text[start:at], text[at + length : end if end != -1 else at + _MAX_LINE]
            at = text.find(word, at + length)

    def _look_at(self, row: int) -> None:
        while True:
            at = bisect_right(self._held, row, key=lambda held: held[0]) - 1
            # A class is followed by its own methods, once these are held.
            opened = [
                held for held in self._held[max(0, at) : at + 1] if held[1] >= row and held[2] not in self._opened
            ]
            if not opened:
                return
            ((_, _, node, cls),) = opened
            self._opened.add(node)
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                self._collect(node.body, None, node)
            elif isinstance(node, FUNCTIONS):
                self._collect_function(node, node, cls)

    def _bound_within(self, unit: Unit) -> dict[str, list[tuple[ast.expr, Part]]]:
        """What comprehensions, lambdas and `:=` bind in a function, or in the module outside of all."""
        if unit not in self._in_expressions:
            found: dict[str, list[tuple[ast.expr, Part]]] = {}
            body = self.source.tree.body if unit is None else [unit]
            for statement in body:
                if unit is not None or not isinstance(statement, (ast.ClassDef, *FUNCTIONS)):
                    for node in walk(statement):
                        _bind(node, found)
            self._in_expressions[unit] = found
        return self._in_expressions[unit]

    def _collect(self, body: list[ast.stmt], unit: Unit, cls: ast.ClassDef | None) -> None:
        held: list[_Held] = []
        for statement in statements_of(body):
            if isinstance(statement, FUNCTIONS) and unit is not None:
                self._collect_function(statement, unit, cls)
            elif isinstance(statement, ast.ClassDef) and unit is not None:
                self.classes[statement.name] = statement
                self._collect(statement.body, unit, statement)
            elif isinstance(statement, (ast.ClassDef, *FUNCTIONS)):
                held.append((first_row(statement), last_row(statement), statement, cls))
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._collect_imports(statement)
            elif isinstance(statement, ast.Global):
                self._global.update((unit, name) for name in statement.names)
            else:
                self._collect_statement(statement, unit, cls)
        if held:
            self._held = sorted([*self._held, *held], key=lambda each: each[0])

    def _collect_imports(self, statement: ast.Import | ast.ImportFrom) -> None:
        for name, each in imports_of(statement):
            root = each.module.partition(".")[0]
            if not each.level and gives_plain_values(each.module):
                self.plain.add(name)
            if root in ("numpy", "torch"):
                (self.numpy if root == "numpy" else self.torch).add(name)

    def _collect_function(self, function: FunctionNode, unit: FunctionNode, cls: ast.ClassDef | None) -> None:
        self.functions.setdefault(function.name, []).append((function, unit))
        if cls is not None:
            self.class_of[function] = cls
        given = function.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if each is not None and each.arg not in OWN:
                self.parameters.setdefault((unit, each.arg), []).append(function)
        self._note_grad_mode(function, function.decorator_list)
        self._collect(function.body, unit, None)

    def _collect_statement(self, statement: ast.stmt, unit: Unit, cls: ast.ClassDef | None) -> None:
        for each in stores_of(statement):
            value = each.value
            is_field = cls is not None and isinstance(each.target, ast.Name)
            if value is None:
                if is_field and each.how == "declared":
                    self.fields.setdefault(each.root, []).append(cls.name)  # type: ignore[union-attr]
                continue
            if isinstance(each.target, ast.Attribute) and each.target.attr == "requires_grad" and not is_false(value):
                value = each.target
            part = ITEM if each.how == "item" else None
            if each.how == "part":
                part = part_given(statement.targets, each.target) if isinstance(statement, ast.Assign) else ITEM
            self._add(each.target, value, unit, part)
            if is_field:
                self.flows.setdefault((None, f".{each.root}"), []).append((value, unit, None, part))
        if any(statement.lineno <= row <= last_row(statement) for row in self._rows_of_lambdas):
            for body in (each.body for each in walk(statement) if isinstance(each, ast.Lambda)):
                if isinstance(body, ast.Call) and isinstance(body.func, ast.Attribute):
                    self._put_in(body, body.func, unit)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            method = statement.value.func
            if isinstance(method, ast.Attribute):
                self._put_in(statement.value, method, unit)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            self._note_grad_mode(statement, [item.context_expr for item in statement.items])

    def _put_in(self, call: ast.Call, method: ast.Attribute, unit: Unit) -> None:
        """`x.append(y)`, and what is done in place: `x.cuda().eval()`."""
        given: list[ast.expr] = [call]
        if _PUTTING.match(method.attr) or method.attr.endswith("_"):
            given += arguments_of(call)
        place = ITEM if method.attr == "backward" else ANYWHERE  # `optimizer.backward(loss)` has no other parts of it
        while isinstance(method.value, ast.Call) and isinstance(method.value.func, ast.Attribute):
            given.append(method.value)
            method = method.value.func
        for each in given:
            self._add(method.value, each, unit, None, place)

    def _note_grad_mode(self, statement: ast.stmt, contexts: list[ast.expr]) -> None:
        if not self._may_be_on and any(map(_turns_grad_off, contexts)):
            self._without_grad.append((statement.lineno, last_row(statement)))

    def _add(self, target: ast.expr, value: ast.expr, unit: Unit, part: Part, place: Part = None) -> None:
        """A value, or a part of it, goes into a name, and into each object on the way to an attribute or an item."""
        is_bound = isinstance(target, ast.Name) and place is None
        while not isinstance(target, ast.Name):
            if isinstance(target, ast.Attribute):
                self.flows.setdefault((None, f".{target.attr}"), []).append((value, unit, place, part))
                place = f".{target.attr}"
                target = target.value
            elif isinstance(target, ast.Subscript):
                place = part_written(target.slice)
                target = target.value
            elif isinstance(target, ast.Starred):
                target = target.value
            elif isinstance(target, ast.Call):
                place = ANYWHERE
                target = target.func
            else:
                return
        if target.id in OWN and not is_bound:
            return
        where = None if (unit, target.id) in self._global else unit
        self.flows.setdefault((where, target.id), []).append((value, unit, place, part))
        if is_bound:
            self.bound.add((where, target.id))
        elif where is not None and (where, target.id) not in self.bound and (where, target.id) not in self.parameters:
            self.flows.setdefault((None, target.id), []).append((value, unit, place, part))


def _may_be_changed(before: str, after: str) -> bool:
    """Whether something may be put into a name or attribute that stands in a line: `x = y`, `x.append(y)`, `x[0] = y`;
    or is defined under its name."""
    return "=" in after or after[:1] in (".", "[", ",") or before.endswith("def ") or "global " in before


def _is_handed_on(before: str, after: str) -> bool:
    """`f(name)`, `x = name`, `return name`; neither a call nor a definition."""
    before, after = before.rstrip().removesuffix("self.").removesuffix("cls.").rstrip(), after.lstrip()
    if _GIVEN_TO_DATA.search(before):
        return False
    ends = before[-1:] in ("[", "(", ",", "=", ":") or before.endswith(("return", "else", "if", "or"))
    return ends and (not after or after[0] in "]),}" or after.startswith(("else ", "if ", "or ")))


def names_bound(target: ast.expr) -> Iterator[str]:
    return (each.id for each in walk(target) if isinstance(each, ast.Name))


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (False, None)


def _bind(node: ast.AST, found: dict[str, list[tuple[ast.expr, Part]]]) -> None:
    """Who calls a lambda is not looked for."""
    if isinstance(node, ast.comprehension):
        for name in names_bound(node.target):
            found.setdefault(name, []).append((node.iter, ITEM))
    elif isinstance(node, ast.NamedExpr):
        found.setdefault(node.target.id, []).append((node.value, None))
    elif isinstance(node, ast.Lambda):
        for name in parameter_names(node.args):
            found.setdefault(name, []).append((HANDED_ON, None))


def _names(call: ast.Call, name: str) -> bool:
    return last_name(call.func) == name or any(last_name(each) == name for each in arguments_of(call))


def _turns_grad_off(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return GRAD_CONTEXTS.get(last_name(called) or "") == "off"
