"""A forward run over the statements of one function: which names refer to which memory.
Branches are joined and loops run twice. A call of a function of the module runs its body. The effects of expressions
and calls are in aliases.py and memory_effects.py.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tonumpy.detectors.aliases import Comprehension, Names, Place, Sought, place_of
from tonumpy.detectors.callees import Callee, Callees
from tonumpy.detectors.memory import NOTHING, Reference, References, Sharing, Side, selected, steps_of_index
from tonumpy.detectors.memory_effects import Effects
from tonumpy.detectors.shared_calls import side_of
from tonumpy.engine.names.bindings import arguments_of, bound_names, given_to, parameter_names
from tonumpy.text.candidates import Candidate, Scope, Site, class_around
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.source import Source
from tonumpy.text.syntax import TRIES, own_expressions, walk

_MAKING_CONTAINERS = frozenset("dict defaultdict OrderedDict list set deque tuple".split())
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and its value
_ASKING_FOR_TYPE = frozenset("type isinstance hasattr is_tensor issubclass".split())
_MAX_DEPTH = 2  # of calls, followed into callees or back to callers
_MAX_HELD = 50  # references of one place; more, as after many loops in a row, are dropped
_ROUNDS = 2  # of a loop
_MAX_NODES = 20_000  # that one run visits


class _Frame:
    """The run of a called function of the module. A parameter whose argument is a place of the caller is that place;
    `ends` are the states at its returns."""

    def __init__(self, callee: Callee, places: dict[str, Place]) -> None:
        self.callee = callee
        self.places = places
        self.returned: References = NOTHING
        self.ends: list[Names] = []


def sharing_of(source: Source, candidates: Sequence[Candidate], sharers: Sequence[Site]) -> Sharing:
    """Run the functions that hold conversions, and their callers, and return the writes through shared memory."""
    candidates = [each for each in candidates if not each.is_unbound]
    conversions: dict[ast.Call, Side] = {each.call: "array" for each in candidates}
    conversions.update((each.call, side_of(each.call)) for each in sharers)
    found = Sharing({}, {})
    functions = [*(each.scopes for each in candidates), *(each.scopes for each in sharers)]
    sought = Sought(conversions, found)
    callees, waiting = Callees(source), functions
    for _ in range(_MAX_DEPTH + 1):
        fresh = {id(each[-1]): each for each in waiting if id(each[-1]) not in callees.relevant}
        callees.relevant |= fresh.keys()
        flows = [_Flow(sought, callees, scopes) for scopes in fresh.values()]
        for each in flows:
            each.run()
        waiting = [scopes for each in flows if each.hands_on for scopes in callees.callers_of(each.scopes[-1])]
    return found


class _Flow(Effects):
    """The run over one function. The places of a called function begin with the depth of the call: `1:x`."""

    def __init__(self, sought: Sought, callees: Callees, scopes: tuple[Scope, ...]) -> None:
        super().__init__(sought, scopes)
        self._callees = callees
        self._frames: list[_Frame] = []  # of the calls in progress
        self._is_reached = True
        self._left: list[Names] = []  # the states at `break` and `continue` of the enclosing loop

    # The function.

    def run(self) -> None:
        try:
            self._block(self.scopes[-1].body)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            return
        if self._is_reached:
            self._leave(NOTHING)

    def _block(self, body: Sequence[ast.stmt]) -> None:
        before = self.path
        for statement in body:
            if not self._is_reached or self._looked_at > _MAX_NODES:
                break
            self._do(statement)
        self.path = before

    def _do(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign():
                held = NOTHING if _is_pairwise(statement) else self.value(statement.value)
                for target in statement.targets:
                    self.bind(target, held, statement.value)
            case ast.AnnAssign(value=ast.expr()):
                self.bind(statement.target, self.value(statement.value), statement.value)
            case ast.AugAssign():
                self._augment(statement)
            case ast.Delete():
                for target in statement.targets:
                    self.names.pop(self.place(target) or (), None)
            case ast.Return() | ast.Break() | ast.Continue():
                self._jump(statement)
            case ast.If():
                self.value(statement.test)
                self._branches(statement, statement.body, statement.orelse)
            case ast.Match():
                self.value(statement.subject)
                takes_all = _takes_all(statement.cases[-1])
                self._branches(statement, *(each.body for each in statement.cases), *([] if takes_all else [[]]))
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(statement)
            case ast.With() | ast.AsyncWith():
                self._with(statement)
            case _ if isinstance(statement, TRIES):
                handlers = (handler.body for handler in statement.handlers)
                self._branches(statement, [*statement.body, *statement.orelse], *handlers)
                self._block(statement.finalbody)
            case _:
                for each in own_expressions(statement):
                    self.value(each)
                self._is_reached &= not isinstance(statement, ast.Raise)

    def _jump(self, statement: ast.Return | ast.Break | ast.Continue) -> None:
        if not isinstance(statement, ast.Return):
            self._left.append(self.names)
        elif self._frames:
            self._frames[-1].returned |= self.value(statement.value)
            self._frames[-1].ends.append(self.names)
        else:
            self._leave(self.value(statement.value))
        self._is_reached = False

    def _leave(self, returned: References) -> None:
        """Record a read of the attributes of `self` at the end of the function."""
        kept = {place: held for place, held in self.names.items() if len(place) > 1}
        given = NOTHING.union(returned, *kept.values())
        self.hands_on |= any(each.conversion is not None for each in given)
        for place, held in kept.items():
            if place[0] == "self":
                self.note(held, 0, "".join(place))

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            held = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, held, item.context_expr)
        self._block(statement.body)

    def _branches(self, statement: ast.stmt, *blocks: Sequence[ast.stmt]) -> None:
        """Run the branches. If only one of them completes, the code after the statement belongs to its path."""
        before, path, ends, went_on = self.names, self.path, list[Names](), list[int]()
        for number, block in enumerate(blocks):
            self.names, self._is_reached = dict(before), True
            self.path = (*path, (id(statement), number))
            if isinstance(statement, ast.If):
                self._forget_what_is_asked_for_its_type(statement.test)
            self._block(block)
            if self._is_reached:
                ends.append(self.names)
                went_on.append(number)
        self._is_reached = bool(ends)
        self.names = self._joined(ends or [before])
        self.path = (*path, (id(statement), went_on[0])) if len(went_on) == 1 < len(blocks) else path

    def _forget_what_is_asked_for_its_type(self, test: ast.expr) -> None:
        """Drop the references of a place whose type is tested: it is an array in one branch and a tensor in the
        other."""
        for call in walk(test):
            if isinstance(call, ast.Call) and call.args:
                name, place = last_name(call.func) or "", self.place(call.args[0])
                asks = name in _ASKING_FOR_TYPE or name.lstrip("_").startswith("is_")  # `is_numpy_array(x)`
                if asks and place is not None and place not in self.containers:
                    self.names[place] = NOTHING

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        """Run a loop. An iterable counts as not empty: else its loop variables would keep their former references."""
        around = self._left
        for number in range(_ROUNDS):
            before = dict(self.names)
            self._left = [before] if number or isinstance(statement, ast.While) else []
            if isinstance(statement, ast.While):
                self.value(statement.test)
            else:
                self._take(statement.target, statement.iter)
            self._block(statement.body)
            ends = [*self._left, *([self.names] if self._is_reached else [])]
            self._is_reached = True
            self.names = self._joined(ends or [before])
        if isinstance(statement, ast.While):
            self.value(statement.test)
        self._left = around
        self._block(statement.orelse)

    def _joined(self, ends: list[Names]) -> Names:
        """The join of the states of several paths."""
        found: Names = {}
        for place in {place for end in ends for place in end}:
            parts = []
            for self.names in ends:
                parts.append(self.of(place))
            held = NOTHING.union(*parts)
            found[place] = held if len(held) <= _MAX_HELD else NOTHING
        return found

    # Functions of the module.

    def place(self, node: ast.expr) -> Place | None:
        place, depth = place_of(node), len(self._frames)
        if place is None or depth == 0:
            return place
        root, *steps = place
        return (*self._frames[-1].places.get(root, (f"{depth}:{root}",)), *steps)

    def _may_enter(self, callee: Callee) -> bool:
        is_within = callee.node is self.scopes[-1] or any(callee == each.callee for each in self._frames)
        is_relevant = self.is_under_way or id(callee.node) in self._callees.relevant
        return is_relevant and not is_within and len(self._frames) < _MAX_DEPTH

    def follow(self, call: ast.Call) -> References | None:
        callee = self._callees.meant(call, class_around(self.scopes))
        if callee is None or not self._may_enter(callee) or self.place(call.func) in self.names:
            return None
        values = [(self.place(each), self.value(each)) for each in arguments_of(call)]
        if callee.takes_object and isinstance(call.func, ast.Attribute):
            values.insert(0, (self.place(call.func.value), self.refer(call.func.value)))
        given = given_to(parameter_names(callee.node.args), call, values)
        bound = _bound_in(callee.node)
        places = {name: place for name, (place, _) in given.items() if place is not None and name not in bound}
        prefix = f"{len(self._frames) + 1}:"
        for name, (_, held) in given.items():
            if name not in places:
                self.hold((prefix + name,), held)
        frame = _Frame(callee, places)
        return self._run_in(frame, prefix)

    def _run_in(self, frame: _Frame, prefix: str) -> References:
        """Run the body of a called function, and return the references of its result."""
        around = self._left, self.scopes, self.callee, self.path
        function, owner = frame.callee
        self._frames.append(frame)
        self.scopes = (self.scopes[0], function) if owner is None else (self.scopes[0], owner, function)
        self.callee, self._left = frame.callee, []
        self._block(function.body)
        ends = [*frame.ends, self.names] if self._is_reached else frame.ends
        self.names, self._is_reached = self._joined(ends or [self.names]), True
        self._left, self.scopes, self.callee, self.path = around
        self._frames.pop()
        for inner in [each for each in self.names if each[0].startswith(prefix)]:
            del self.names[inner]
        return frame.returned

    # Bindings.

    def bind(self, target: ast.expr, held: References, value: ast.expr | None) -> None:
        """Bind a target to references; `value` is the assigned expression, None if there is none."""
        match target:
            case ast.Tuple(parts) | ast.List(parts):
                has_star = any(isinstance(part, ast.Starred) for part in parts)
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and not has_star else []
                for index, part in enumerate(parts):
                    if len(values) == len(parts):
                        self.bind(part, self.value(values[index]), values[index])
                    else:
                        self.bind(part, held if has_star else selected(held, (index,)), None)
            case ast.Starred():
                self.bind(target.value, held, None)
            case _:
                self._bind_place(target, held, value)

    def _bind_place(self, target: ast.expr, held: References, value: ast.expr | None) -> None:
        """Bind a place to references, or to new memory if there are none."""
        place = self.place(target)
        if isinstance(target, ast.Subscript) and (place is None or place[:-1] in self.containers):
            self._store(target, held)
        elif place is not None:
            for inner in [each for each in self.names if len(each) > len(place) and each[: len(place)] == place]:
                del self.names[inner]
            self.containers.discard(place)
            if _is_container(value):
                self.containers.add(place)
            self.hold(place, held or frozenset((Reference((self.new(),)),)))

    def _store(self, target: ast.Subscript, held: References) -> None:
        """Keep a value in a container, or copy it into a tensor or array."""
        self.value(target.slice)
        base: ast.expr = target.value
        while isinstance(base, ast.Subscript) and self.place(base) not in self.containers:
            base = base.value
        place = self.place(base)
        if place is not None and place in self.containers:
            self.put(place, held)
        else:
            self.write(self._assigned(target), target.lineno, fills=True)

    def _augment(self, statement: ast.AugAssign) -> None:
        held, place = self.value(statement.value), self.place(statement.target)
        if place is not None and place in self.containers:
            self.put(place, held)
            return
        self.write(self._assigned(statement.target), statement.lineno)

    def _assigned(self, target: ast.expr) -> References:
        """The references that `target[...] = value` or `target += value` writes, for any kind of index."""
        if isinstance(target, ast.Subscript) and steps_of_index(target.slice) is None:
            return selected(self.refer(target.value), (f"index({ast.unparse(target.slice)})",))
        return self.refer(target)

    def _take(self, target: ast.expr, iterable: ast.expr) -> None:
        """Bind the target of a loop to the items of its iterable."""
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        called = iterable if isinstance(iterable, ast.Call) else None
        name = last_name(called.func) if called is not None else None
        if called is not None and called.args and name == "enumerate" and len(parts) == 2:
            self.bind(parts[0], NOTHING, None)
            self._take(parts[1], called.args[0])
        elif called is not None and name == "zip" and len(parts) == len(called.args):
            for part, argument in zip(parts, called.args, strict=True):
                self._take(part, argument)
        elif name in _PAIRS and len(parts) == 2:
            self.bind(parts[0], NOTHING, None)
            self.bind(parts[1], self._item_of(iterable), None)
        else:
            self.bind(target, self._item_of(iterable), None)

    def _item_of(self, iterable: ast.expr) -> References:
        """The references of a loop's item. Iterating over a named object reads only its items, if anything."""
        held = self.value(iterable) if self.place(iterable) is None else self.refer(iterable)
        if isinstance(iterable, ast.Call) and last_name(iterable.func) == "range":
            return NOTHING
        return selected(held, (self.new("item "),))

    def comprehension(self, node: Comprehension) -> References:
        before = dict(self.names)
        for generator in node.generators:
            self._take(generator.target, generator.iter)
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
        held = self.value(node.value if isinstance(node, ast.DictComp) else node.elt)
        for name in (name for generator in node.generators for name in bound_names(generator.target)):
            self.names.pop((name,), None)
            if (name,) in before:
                self.names[(name,)] = before[(name,)]
        return held


def _takes_all(case: ast.match_case) -> bool:
    """True for `case _:` and `case other:`."""
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _is_pairwise(statement: ast.Assign) -> bool:
    """True for `a, b = x, y`, where each value is evaluated with its own target."""
    match statement:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            return len(targets) == len(values) and not any(isinstance(each, ast.Starred) for each in targets)
    return False


def _is_container(value: ast.expr | None) -> bool:
    """True for an expression that makes a list, dict or other container."""
    made = (ast.Dict, ast.DictComp, ast.List, ast.Set, ast.ListComp, ast.SetComp)
    return isinstance(value, made) or (isinstance(value, ast.Call) and last_name(value.func) in _MAKING_CONTAINERS)


def _bound_in(function: ast.AST) -> set[str]:
    names = (each for each in walk(function) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}
