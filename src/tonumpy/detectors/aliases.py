"""The state of a forward run over a function: the memory that each name refers to, and its reads and writes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from tonumpy.detectors.callees import Callee
from tonumpy.detectors.memory import (
    NEW,
    NOTHING,
    Overwritten,
    Path,
    Reference,
    References,
    Sharing,
    Side,
    Step,
    Write,
    after,
    are_apart,
    is_member,
    is_new,
    overlap,
    selected,
    steps_of_index,
)
from tonumpy.detectors.waiting import PLAIN
from tonumpy.text.candidates import Scope, is_in_row
from tonumpy.text.syntax import children_of

Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, References]
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

OF_SAME_MEMORY = frozenset("T mT H mH real flat data".split())  # attributes
_MAX_PLACES = 100  # per function, since each write visits all of them; further ones are ignored


class Sought(NamedTuple):
    """The conversions that runs look for, with the side that each makes; results go into `sharing`."""

    conversions: Mapping[ast.Call, Side]
    sharing: Sharing


def place_of(node: ast.expr) -> Place | None:
    """The place that a name, its attributes and literal keys spell: `batch["image"].mask`; None for other expressions.
    `x.data` is the place `x`; `x.T` is a view, and no place.
    """
    match node:
        case ast.Name(name):
            return (name,)
        case ast.Attribute(base, name):
            place, step = place_of(base), f".{name}"
            if place not in (("self",), ("cls",)) and name in OF_SAME_MEMORY:
                return place if name == "data" else None
        case ast.Subscript(base, ast.Constant(str() as key)):
            place, step = place_of(base), f"[{key!r}]"
        case _:
            return None
    return None if place is None else (*place, step)


class Aliases:
    """The state at one point of a run, and the effects of expressions on it."""

    def __init__(self, sought: Sought, scopes: tuple[Scope, ...]) -> None:
        self.sought = sought
        self.scopes = scopes  # those around the current code
        self.names: Names = {}
        self.containers = set[Place]()  # lists, dicts and other containers that the function makes
        self.path: Path = ()
        self.callee: Callee | None = None  # the called function whose body is run
        self.is_under_way = False  # something has been converted
        self.hands_on = False  # callers of the function may use shared memory
        self._made = 0
        self._looked_at = 0

    def place(self, node: ast.expr) -> Place | None:
        """The place that an expression spells in the current function."""
        return place_of(node)

    def call(self, call: ast.Call) -> References:
        raise NotImplementedError

    def bind(self, target: ast.expr, held: References, value: ast.expr | None) -> None:
        raise NotImplementedError

    def comprehension(self, node: Comprehension) -> References:
        raise NotImplementedError

    # Places.

    def of(self, place: Place) -> References:
        """The references of a place: those it was bound to, or the part of those of the enclosing place."""
        if place in self.names:
            return self.names[place]
        if len(place) == 1:
            return frozenset((Reference(place),))
        held = self.of(place[:-1])
        return _taken_out(held, place[-1:]) if place[:-1] in self.containers else selected(held, place[-1:])

    def hold(self, place: Place, held: References) -> None:
        """Set the references of a place, unless there are too many places."""
        if place in self.names or len(self.names) < _MAX_PLACES:
            self.names[place] = held

    def put(self, place: Place, held: References) -> None:
        """Add references to a container."""
        self.hold(place, self.of(place) | held)

    def new(self, word: str = NEW) -> str:
        """A unique name for new memory or an item: each round of a loop makes its own."""
        self._made += 1
        return f"{word}{self._made}"

    # Reads and writes.

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """Record a read of references; of several writes, the first in the file counts."""
        written = [(each.written, each) for each in references if each.written is not None]
        for write, reference in sorted(written, key=lambda each: (each[0].row, _order(each[1]), _order(each[0]))):
            is_made_last = reference.side == "array" or (reference.side == "tensor" and write.side is None)
            conversion = reference.conversion if is_made_last else write.conversion
            is_reached = not are_apart(self.path, write.path) and not are_apart(self.path, reference.path)
            if conversion is not None and (is_made_last or kept_in is None) and is_reached:
                reads_array = reference.side == "array" or (reference.side is None and write.side == "tensor")
                found = self.sought.sharing.of_tensors if reads_array else self.sought.sharing.of_arrays
                comes_round = self._comes_round(write.row, conversion)
                found.setdefault(conversion, Overwritten(write.row, row, kept_in, comes_round))

    def _comes_round(self, row: int, conversion: ast.Call) -> bool:
        """True if a loop in the function leads from a conversion back to a write on an earlier line."""
        first, last = getattr(self.scopes[-1], "lineno", 1), getattr(self.scopes[-1], "end_lineno", conversion.lineno)
        return first <= row < conversion.lineno <= last

    def write(self, references: References, row: int, *, fills: bool = False) -> None:
        """Record a write to all other references to the same memory.
        A write to an array that no name holds, `rng.shuffle(x.numpy())`, is meant for the tensor, and vice versa.
        """
        conversions = {each.conversion for held in self.names.values() for each in held}
        for each in sorted(references, key=_order):
            others = [other for other in references if (other.conversion is None) != (each.conversion is None)]
            if any(overlap(each.memory, other.memory) for other in others):
                continue  # the tensor on one path, and a part of the array on another
            is_meant = each.conversion not in (None, *conversions) or self._is_meant(each, fills=fills)
            if not is_meant and not are_apart(self.path, each.path):
                self._mark(Write(row, self.path, each.memory, each.conversion, each.side))

    def _is_meant(self, reference: Reference, *, fills: bool) -> bool:
        """True if a called function writes through its own conversion on purpose: it returns nothing, or fills a
        tensor."""
        call, callee = reference.conversion, self.callee
        if call is None or callee is None or not is_in_row(callee.node, call.lineno):
            return False
        return not callee.gives_value or (fills and reference.side == "tensor")

    def _mark(self, write: Write) -> None:
        self.hands_on |= write.conversion is not None
        root, *steps = map(str, write.memory)
        if write.conversion is not None and not is_new(write.memory):
            # The tensor may have no entry of its own yet.
            place = (root, *(step for step in steps if is_member(step)))
            self.hold(place, self.of(place))
        for name, references in self.names.items():
            self.names[name] = frozenset(after(write, other) for other in references)

    # Expressions.

    def value(self, node: ast.expr | None) -> References:
        """The references of an expression, after recording its reads."""
        self._looked_at += 1
        match node:
            case None | ast.Constant() | ast.Lambda():
                return NOTHING
            case ast.Name() | ast.Attribute() | ast.Subscript():
                references = self.refer(node)
                self.note(references, node.lineno)
                return references
            case ast.Call():
                return self.call(node)
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                return self._display(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case ast.NamedExpr():
                held = self.value(node.value)
                self.bind(node.target, held, node.value)
                return held
            case ast.IfExp():
                self.value(node.test)
                return self.value(node.body) | self.value(node.orelse)
            case ast.BoolOp():
                return NOTHING.union(*map(self.value, node.values))
            case ast.Await() | ast.Starred():
                return self.value(node.value)
        for child in children_of(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return NOTHING

    def refer(self, node: ast.expr) -> References:
        """The references of an expression, after recording the reads in it, but not that of the whole expression."""
        if isinstance(node, ast.Attribute) and node.attr in PLAIN:
            return NOTHING
        place = self.place(node)
        if place is not None:
            return self.of(place)
        if isinstance(node, ast.Attribute):
            step = f"{node.attr}()" if node.attr in OF_SAME_MEMORY else f".{node.attr}"
            return selected(self.refer(node.value), () if node.attr == "data" else (step,))
        return self._item(node) if isinstance(node, ast.Subscript) else self.value(node)

    def _item(self, node: ast.Subscript) -> References:
        base, steps = self.refer(node.value), steps_of_index(node.slice)
        self.value(node.slice)
        if steps is None:
            self.note(base, node.lineno)
            return NOTHING
        if self.place(node.value) in self.containers:
            return _taken_out(base, steps)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            # `kept[0]["x"]`: an array from a dict, not a part of an array
            arrays = frozenset(each for each in base if each.conversion is not None)
            return arrays | selected(base - arrays, steps)
        return selected(base, steps)

    def _display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> References:
        """The references that a container display holds."""
        if isinstance(node, ast.Dict):
            for key in node.keys:
                self.value(key)
        return NOTHING.union(*map(self.value, node.values if isinstance(node, ast.Dict) else node.elts))


def _taken_out(held: References, steps: tuple[Step, ...]) -> References:
    """The references taken out of a container: that part of memory made in it, and all that was put into it."""
    made = frozenset(each for each in held if each.conversion is None and is_new(each.memory))
    return held - made | selected(made, tuple(f"key {step}" for step in steps))


def _order(each: Reference | Write) -> tuple[object, ...]:
    """A sort key for references, as the order of a set differs between runs."""
    call = each.conversion
    return (0, 0) if call is None else (call.end_lineno, call.end_col_offset), str(each.memory)
