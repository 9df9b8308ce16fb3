"""A forward run over the statements of one function, for rules that follow what its names hold.

Branches are joined and loops run twice. What a function does that is called is not followed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Generic, TypeVar

from tonumpy.engine.names.bindings import bound_names
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import TRIES, own_expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

Held = TypeVar("Held")
Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, frozenset[Held]]
Path = tuple[tuple[int, int], ...]  # the branches around a statement: a test, and which of its outcomes leads there

OF_SAME_MEMORY = frozenset("T mT H mH real flat data".split())  # attributes
_MAKING_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and what it stands for
_MAX_HELD = 50  # of one place; more, as after many loops in a row, is not followed
_ROUNDS = 2  # of a loop
_MAX_NODES = 20_000  # that the run over one function looks at


def place_of(node: ast.expr) -> Place | None:
    """Return the place that names, their attributes and literal keys spell: `batch["image"].mask`; None for others.

    `x.data` is `x`, and `x.T` no place but a view of one.
    """
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        place = place_of(node.value)
        if place is None or place in (("self",), ("cls",)) or node.attr not in OF_SAME_MEMORY:
            return None if place is None else (*place, f".{node.attr}")
        return place if node.attr == "data" else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        place = place_of(node.value)
        return None if place is None else (*place, f"[{node.slice.value!r}]")
    return None


class ForwardWalk(Generic[Held]):
    """The run over one function. A rule says what its expressions hold, and what becomes of the names it binds."""

    def __init__(self) -> None:
        self.names: Names[Held] = {}
        self.containers: set[Place] = set()  # lists, dicts and the like that the function makes
        self.path: Path = ()
        self.statement: ast.stmt | None = None  # the one at hand
        self._is_reached = True
        self._left: list[Names[Held]] = []  # what holds where the loop around is left or goes on
        self._looked_at = 0

    # What a rule adds.

    def of(self, place: Place) -> frozenset[Held]:
        """Return what a place holds."""
        return self.names.get(place, frozenset())

    def bind_place(self, place: Place, held: frozenset[Held], target: ast.expr, value: ast.expr | None) -> None:
        """Bind a place to what it holds from here on."""
        raise NotImplementedError

    def store(self, target: ast.Subscript, held: frozenset[Held]) -> None:
        """Store into what a target is an item of: `rows[i] = x`."""
        raise NotImplementedError

    def part_of(self, held: frozenset[Held], index: int | None) -> frozenset[Held]:
        """Return one of the parts that an assignment unpacks; None for its number where a starred target stands."""
        raise NotImplementedError

    def item_of(self, iterable: ast.expr) -> frozenset[Held]:
        """Return what a loop takes out of what it goes through."""
        raise NotImplementedError

    def read(self, node: ast.Name | ast.Attribute | ast.Subscript) -> frozenset[Held]:
        raise NotImplementedError

    def call(self, call: ast.Call) -> frozenset[Held]:
        raise NotImplementedError

    def operation(self, node: ast.expr) -> frozenset[Held]:
        raise NotImplementedError

    def augment(self, statement: ast.AugAssign) -> None:
        raise NotImplementedError

    def display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> frozenset[Held]:
        raise NotImplementedError

    def test(self, node: ast.expr) -> None:
        """Look at what a branch or loop depends on."""
        self.value(node)

    def enter_branch(self, statement: ast.stmt) -> None:
        """Take notice of one of the branches of a statement, before its body is run."""

    def leave_context(self, item: ast.withitem) -> None:
        """Take notice of the end of a `with` block."""

    def leave(self, returned: frozenset[Held]) -> None:
        """Take notice of an end of the function, and of what it returns there."""

    # The function.

    def run(self, body: Sequence[ast.stmt]) -> None:
        try:
            self.block(body)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            return
        if self._is_reached:
            self.leave(frozenset())

    def block(self, body: Sequence[ast.stmt]) -> None:
        before = self.path
        for statement in body:
            if not self._is_reached or self._looked_at > _MAX_NODES:
                break
            self.statement = statement
            self._do(statement)
        self.path = before

    def _do(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign():
                held = self.value(statement.value)
                for target in statement.targets:
                    self.bind(target, held, statement.value)
            case ast.AnnAssign(value=ast.expr()):
                self.bind(statement.target, self.value(statement.value), statement.value)
            case ast.AugAssign():
                self.augment(statement)
            case ast.Return():
                self.leave(self.value(statement.value))
                self._is_reached = False
            case ast.Assert():
                self.test(statement.test)
            case ast.If():
                self.test(statement.test)
                self.branches(statement, statement.body, statement.orelse)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(statement)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    held = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, held, item.context_expr)
                self.block(statement.body)
                for item in statement.items:
                    self.leave_context(item)
            case ast.Match():
                self.value(statement.subject)
                blocks = [case.body for case in statement.cases]
                self.branches(statement, *blocks, *([] if _takes_all(statement.cases[-1]) else [[]]))
            case ast.Break() | ast.Continue():
                self._left.append(self.names)
                self._is_reached = False
            case ast.Delete():
                for target in statement.targets:
                    self.names.pop(place_of(target) or (), None)
            case _ if isinstance(statement, TRIES):
                handlers = (handler.body for handler in statement.handlers)
                self.branches(statement, [*statement.body, *statement.orelse], *handlers)
                self.block(statement.finalbody)
            case _:
                for each in own_expressions(statement):
                    self.value(each)
                self._is_reached &= not isinstance(statement, ast.Raise)

    def branches(self, statement: ast.stmt, *blocks: Sequence[ast.stmt]) -> list[Names[Held]]:
        """Run the branches, and return what holds at the ends that are reached. Where only one goes on, what follows
        stands in it, too."""
        before, path, ends, went_on = self.names, self.path, [], []
        for number, block in enumerate(blocks):
            self.names, self._is_reached = dict(before), True
            self.path = (*path, (id(statement), number))
            self.enter_branch(statement)
            self.block(block)
            if self._is_reached:
                ends.append(self.names)
                went_on.append(number)
        self._is_reached = bool(ends)
        self.names = self._joined(ends)
        self.path = (*path, (id(statement), went_on[0])) if len(went_on) == 1 < len(blocks) else path
        return ends

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        """Run a loop. What is gone through counts as not empty: else nothing that it binds would ever be bound anew."""
        around = self._left
        for number in range(_ROUNDS):
            before = dict(self.names)
            self._left = [before] if number or isinstance(statement, ast.While) else []
            if isinstance(statement, ast.While):
                self.test(statement.test)
            else:
                self.take(statement.target, statement.iter)
            self.block(statement.body)
            ends = [*self._left, *([self.names] if self._is_reached else [])]
            self._is_reached = True
            self.names = self._joined(ends or [before])
        if isinstance(statement, ast.While):
            self.test(statement.test)
        self._left = around
        self.block(statement.orelse)

    def _joined(self, ends: list[Names[Held]]) -> Names[Held]:
        found: Names[Held] = {}
        for place in {place for end in ends for place in end}:
            parts = []
            for self.names in ends:
                parts.append(self.of(place))
            held = frozenset[Held]().union(*parts)
            found[place] = held if len(held) <= _MAX_HELD else frozenset()
        return found

    # Bindings.

    def bind(self, target: ast.expr, held: frozenset[Held], value: ast.expr | None) -> None:
        """Bind a target to what a value holds; None for the value where it stands nowhere by itself."""
        if isinstance(target, (ast.Tuple, ast.List)):
            has_star = any(isinstance(part, ast.Starred) for part in target.elts)
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            is_each_given = len(values) == len(target.elts) and not has_star
            for index, part in enumerate(target.elts):
                if is_each_given:
                    self.bind(part, self.value(values[index]), values[index])
                else:
                    self.bind(part, self.part_of(held, None if has_star else index), None)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, held, None)
        else:
            place = place_of(target)
            if place is not None and not (isinstance(target, ast.Subscript) and place[:-1] in self.containers):
                for inner in [each for each in self.names if len(each) > len(place) and each[: len(place)] == place]:
                    del self.names[inner]
                (self.containers.add if _makes_container(value) else self.containers.discard)(place)
                self.bind_place(place, held, target, value)
            elif isinstance(target, ast.Subscript):
                self.store(target, held)

    def take(self, target: ast.expr, iterable: ast.expr) -> None:
        """Bind the target of a loop to what it takes out of what it goes through."""
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        called = iterable if isinstance(iterable, ast.Call) else None
        name = last_name(called.func) if called is not None else None
        if called is not None and called.args and name == "enumerate" and len(parts) == 2:
            self.bind(parts[0], frozenset(), None)
            self.take(parts[1], called.args[0])
        elif called is not None and name == "zip" and len(parts) == len(called.args):
            for part, argument in zip(parts, called.args, strict=True):
                self.take(part, argument)
        elif name in _PAIRS and len(parts) == 2:
            self.bind(parts[0], frozenset(), None)
            self.bind(parts[1], self.item_of(iterable), None)
        else:
            self.bind(target, self.item_of(iterable), None)

    # Expressions.

    def value(self, node: ast.expr | None) -> frozenset[Held]:
        """Return what an expression holds; whatever is read on the way is read."""
        self._looked_at += 1
        match node:
            case None | ast.Constant() | ast.Lambda():
                return frozenset()
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.read(node)
            case ast.Call():
                return self.call(node)
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                return self.display(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.NamedExpr():
                held = self.value(node.value)
                self.bind(node.target, held, node.value)
                return held
            case ast.IfExp():
                self.test(node.test)
                return self.value(node.body) | self.value(node.orelse)
            case ast.BoolOp():
                return frozenset[Held]().union(*map(self.value, node.values))
            case ast.Await() | ast.Starred():
                return self.value(node.value)
        return self.operation(node)

    def _comprehension(self, node: Comprehension) -> frozenset[Held]:
        before = dict(self.names)
        for generator in node.generators:
            self.take(generator.target, generator.iter)
            for condition in generator.ifs:
                self.test(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
        held = self.item_made(node)
        for name in (name for generator in node.generators for name in bound_names(generator.target)):
            self.names.pop((name,), None)
            if (name,) in before:
                self.names[(name,)] = before[(name,)]
        return held

    def item_made(self, node: Comprehension) -> frozenset[Held]:
        """Return what the items of a comprehension hold."""
        return self.value(node.value if isinstance(node, ast.DictComp) else node.elt)


def _takes_all(case: ast.match_case) -> bool:
    """True for `case _:` and `case other:`."""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _makes_container(value: ast.expr | None) -> bool:
    is_called = isinstance(value, ast.Call) and last_name(value.func) in _MAKING_CONTAINERS
    return is_called or isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))
