"""A forward run over the statements of one function, for rules that follow what its names hold.

Branches are joined and loops run twice. A function of the module that is called is run over in place of the call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from tonumpy.detectors.callees import Callee, Callees
from tonumpy.engine.names.bindings import arguments_of, bound_names, given_to, parameter_names
from tonumpy.engine.names.references import class_around
from tonumpy.text.candidates import Scope
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import TRIES, own_expressions

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

Held = TypeVar("Held")
Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, frozenset[Held]]
Path = tuple[tuple[int, int], ...]  # the branches around a statement: a test, and which of its outcomes leads there

OF_SAME_MEMORY = frozenset("T mT H mH real flat data".split())  # attributes
_MAKING_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and what it stands for
_MAX_DEPTH = 2  # of calls, from the function that is called or to those who call
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


class Frame(Generic[Held]):
    """The run over a function of the module in place of a call, which gives its parameters places and what these hold;
    `ends`: what holds where it returns."""

    def __init__(self, call: ast.Call, callee: Callee, given: dict[str, tuple[Place | None, frozenset[Held]]]) -> None:
        self.call = call
        self.callee = callee
        self.given = given
        self.returned: frozenset[Held] = frozenset()
        self.ends: list[Names[Held]] = []


class ForwardWalk(Generic[Held]):
    """The run over one function. A rule says what its expressions hold, and what becomes of the names it binds.

    The places of a function that is called begin with the depth of the call: `1:x`.
    """

    def __init__(self, functions: Callees, scopes: tuple[Scope, ...]) -> None:
        self.scopes = scopes
        self.frames: list[Frame[Held]] = []  # of the calls that have led here
        self._functions = functions
        self.hands_on = False  # what callers of the function may have to do with
        self.names: Names[Held] = {}
        self.containers: set[Place] = set()  # lists, dicts and the like that the function makes
        self.path: Path = ()
        self.statement: ast.stmt | None = None  # the one at hand
        self.is_reached = True
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

    def is_under_way(self) -> bool:
        """True if something has happened yet that a function which is called may have to do with."""
        raise NotImplementedError

    def receiver_of(self, node: ast.expr) -> frozenset[Held]:
        """Return what the object holds whose method is called."""
        return self.value(node)

    def hold(self, place: Place, held: frozenset[Held]) -> None:
        """Set what a place holds."""
        self.names[place] = held

    # The function.

    def run(self, body: Sequence[ast.stmt]) -> None:
        try:
            self.block(body)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            return
        if self.is_reached:
            self.leave(frozenset())

    def block(self, body: Sequence[ast.stmt]) -> None:
        before = self.path
        for statement in body:
            if not self.is_reached or self._looked_at > _MAX_NODES:
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
            case ast.Delete():
                for target in statement.targets:
                    self.names.pop(self.place(target) or (), None)
            case ast.Assert():
                self.test(statement.test)
            case ast.Return() | ast.Break() | ast.Continue():
                self._jump(statement)
            case ast.If() | ast.Match():
                self._choose(statement)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(statement)
            case ast.With() | ast.AsyncWith():
                self._with(statement)
            case _ if isinstance(statement, TRIES):
                handlers = (handler.body for handler in statement.handlers)
                self.branches(statement, [*statement.body, *statement.orelse], *handlers)
                self.block(statement.finalbody)
            case _:
                for each in own_expressions(statement):
                    self.value(each)
                self.is_reached &= not isinstance(statement, ast.Raise)

    def _jump(self, statement: ast.Return | ast.Break | ast.Continue) -> None:
        if not isinstance(statement, ast.Return):
            self._left.append(self.names)
        else:
            held = self.value(statement.value)
            if self.frames:
                self.frames[-1].returned |= held
                self.frames[-1].ends.append(self.names)
            else:
                self.leave(held)
        self.is_reached = False

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            held = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, held, item.context_expr)
        self.block(statement.body)
        for item in statement.items:
            self.leave_context(item)

    def _choose(self, statement: ast.If | ast.Match) -> None:
        if isinstance(statement, ast.If):
            self.test(statement.test)
            self.branches(statement, statement.body, statement.orelse)
            return
        self.value(statement.subject)
        blocks = [case.body for case in statement.cases]
        self.branches(statement, *blocks, *([] if _takes_all(statement.cases[-1]) else [[]]))

    def branches(self, statement: ast.stmt, *blocks: Sequence[ast.stmt]) -> list[Names[Held]]:
        """Run the branches, and return what holds at the ends that are reached. Where only one goes on, what follows
        stands in it, too."""
        before, path, ends, went_on = self.names, self.path, [], []
        for number, block in enumerate(blocks):
            self.names, self.is_reached = dict(before), True
            self.path = (*path, (id(statement), number))
            self.enter_branch(statement)
            self.block(block)
            if self.is_reached:
                ends.append(self.names)
                went_on.append(number)
        self.is_reached = bool(ends)
        self.names = self.joined(ends)
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
            ends = [*self._left, *([self.names] if self.is_reached else [])]
            self.is_reached = True
            self.names = self.joined(ends or [before])
        if isinstance(statement, ast.While):
            self.test(statement.test)
        self._left = around
        self.block(statement.orelse)

    def joined(self, ends: list[Names[Held]]) -> Names[Held]:
        """Return what holds after one of several ways."""
        found: Names[Held] = {}
        for place in {place for end in ends for place in end}:
            parts = []
            for self.names in ends:
                parts.append(self.of(place))
            held = frozenset[Held]().union(*parts)
            found[place] = held if len(held) <= _MAX_HELD else frozenset()
        return found

    # Functions of the module.

    def place(self, node: ast.expr) -> Place | None:
        """Return the place that an expression spells, in the function at hand."""
        place, depth = place_of(node), len(self.frames)
        return place if place is None or depth == 0 else (f"{depth}:{place[0]}", *place[1:])

    def callee_of(self, call: ast.Call) -> Callee | None:
        """Return the function of the module that a call is followed into."""
        owner = self.frames[-1].callee.owner if self.frames else class_around(self.scopes)
        callee = self._functions.meant(call, owner)
        if callee is None or not (self.is_under_way() or id(callee.node) in self._functions.relevant):
            return None
        if len(self.frames) == _MAX_DEPTH or self.place(call.func) in self.names:
            return None
        is_within = callee.node is self.scopes[-1] or any(callee.node is each.callee.node for each in self.frames)
        return None if is_within else callee

    def follow(self, call: ast.Call, callee: Callee) -> frozenset[Held]:
        """Run over a function of the module in place of a call, and return what it gives back. What its parameters'
        attributes hold then, those of the arguments hold."""
        values = [(self.place(each), self.value(each)) for each in arguments_of(call)]
        if callee.takes_object and isinstance(call.func, ast.Attribute):
            values.insert(0, (self.place(call.func.value), self.receiver_of(call.func.value)))
        frame = Frame(call, callee, given_to(parameter_names(callee.node.args), call, values))
        prefix = f"{len(self.frames) + 1}:"
        for name, (place, held) in frame.given.items():
            self.hold((prefix + name,), held)
            for outer in self._places_within(place):
                self.hold((prefix + name, *outer[len(place or ()) :]), self.names[outer])
        self.frames.append(frame)
        statement, self.statement, left, self._left = self.statement, None, self._left, []
        self.block(callee.node.body)
        ends = [*frame.ends, self.names] if self.is_reached else frame.ends
        self.names, self.is_reached = self.joined(ends or [self.names]), True
        self.statement, self._left = statement, left
        self.frames.pop()
        for inner in [each for each in self.names if each[0].startswith(prefix)]:
            held = self.names.pop(inner)
            outer_place, _ = frame.given.get(inner[0][len(prefix) :], (None, held))
            if outer_place is not None and len(inner) > 1:
                self.hold((*outer_place, *inner[1:]), held)
        return frame.returned

    def _places_within(self, place: Place | None) -> list[Place]:
        """Return the attributes and items of a place that hold something."""
        length = len(place or ())
        return [each for each in self.names if place is not None and len(each) > length and each[:length] == place]

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
            place = self.place(target)
            if place is not None and not (isinstance(target, ast.Subscript) and place[:-1] in self.containers):
                for inner in self._places_within(place):
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


def run_with_callers(
    make: Callable[[tuple[Scope, ...]], ForwardWalk[Held]],
    functions: Iterable[tuple[Scope, ...]],
    callees: Callees,
) -> None:
    """Run over functions, each given with what stands around it, and over the callers of those that hand something
    on."""
    waiting = list(functions)
    for _ in range(_MAX_DEPTH + 1):
        fresh = {id(each[-1]): each for each in waiting if id(each[-1]) not in callees.relevant}
        callees.relevant |= fresh.keys()
        walks = [(scopes[-1], make(scopes)) for scopes in fresh.values()]
        for scope, each in walks:
            each.run(scope.body)
        waiting = [scopes for scope, each in walks if each.hands_on for scopes in callees.callers_of(scope)]


def _takes_all(case: ast.match_case) -> bool:
    """True for `case _:` and `case other:`."""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _makes_container(value: ast.expr | None) -> bool:
    is_called = isinstance(value, ast.Call) and last_name(value.func) in _MAKING_CONTAINERS
    return is_called or isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))
