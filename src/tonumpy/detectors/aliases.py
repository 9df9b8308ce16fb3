"""The state of a forward run over a function: which memory each name refers to, and what expressions read and write."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import NamedTuple

from tonumpy.detectors.callees import Callee
from tonumpy.detectors.memory import (
    NEW,
    NOTHING,
    Memory,
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
from tonumpy.text.candidates import Scope, Site, is_in_row
from tonumpy.text.syntax import children_of, walk

Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, References]
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

ON_THE_WAY: Place = ("<on the way>",)  # the copies that have begun, and that nothing has waited for since
OF_SAME_MEMORY = frozenset("T mT H mH real flat data".split())  # attributes
_MAX_PLACES = 100  # of a function, since each write looks at all of them; further ones are not followed


class Read(NamedTuple):
    """The first read of a copy that may not have arrived: the call that copies, what reads, and whether that calls a
    method of it; `others`: further copies are on their way as well."""

    copy: ast.Call
    node: ast.expr
    site: Site
    others: bool
    is_by_method: bool


class Sought(NamedTuple):
    """What runs look for: conversions, with what they make, and copies that do not wait, with what they copy and
    the names of that. `readers` are the names of torch, and of libraries that read what they are given. What is found
    is put into the other two."""

    conversions: Mapping[ast.Call, Side]
    copies: Mapping[ast.Call, ast.expr]
    on_device: Collection[str]
    readers: Collection[str]
    sharing: Sharing
    reads: dict[tuple[int, int], Read]


def place_of(node: ast.expr) -> Place | None:
    """Return the place that names, their attributes and literal keys spell: `batch["image"].mask`; None for others.

    `x.data` is `x`, and `x.T` no place but a view of one.
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
    """What holds at one point of a run, and what expressions do there."""

    def __init__(self, sought: Sought, scopes: tuple[Scope, ...]) -> None:
        self.sought = sought
        self.scopes = scopes  # those around the code at hand
        self.names: Names = {ON_THE_WAY: NOTHING}
        self.containers: dict[Place, str] = {}  # lists, dicts and the like that the function makes
        self.path: Path = ()
        self.statement: ast.stmt = scopes[-1]  # type: ignore[assignment]  # the one at hand
        self.callee: Callee | None = None  # the function that the code at hand is the body of, where it was called
        self.is_under_way = False  # something has been converted or copied
        self.hands_on = False  # what callers of the function may have to do with
        self._string: ast.expr | None = None  # the f-string around
        self._made = 0
        self._copies: dict[Memory, ast.Call] = {}  # what copies have been written to
        self._looked_at = 0

    def place(self, node: ast.expr) -> Place | None:
        """Return the place that an expression spells, in the function at hand."""
        return place_of(node)

    def call(self, call: ast.Call) -> References:
        raise NotImplementedError

    def bind(self, target: ast.expr, held: References, value: ast.expr | None) -> None:
        raise NotImplementedError

    def comprehension(self, node: Comprehension) -> References:
        raise NotImplementedError

    # Places.

    def of(self, place: Place) -> References:
        """Return what a place was bound to, or that part of what the place around it refers to."""
        if place in self.names:
            return self.names[place]
        if len(place) == 1:
            return frozenset((Reference(place),))
        held = self.of(place[:-1])
        return self._taken_out(held, place[-1:]) if place[:-1] in self.containers else self.part(held, place[-1:])

    def part(self, held: References, steps: tuple[Step, ...]) -> References:
        """Return a part of what is held; a part of a copy arrives with it."""
        copies = self.copies_in(held)
        return copies | selected(held - copies, steps)

    def hold(self, place: Place, held: References) -> None:
        """Set what a place holds, within what is followed."""
        if place in self.names or len(self.names) < _MAX_PLACES:
            self.names[place] = held

    def put(self, place: Place, held: References) -> None:
        """Put into a container. Of copies nothing is known any more where something else is put beside them."""
        before = self.of(place)
        if self._copies and not (self.copies_in(before) and self.copies_in(held)):
            is_empty = all(is_new(each.memory) for each in before)
            before, held = before - self.copies_in(before), held if is_empty else held - self.copies_in(held)
        self.hold(place, before | held)

    def new(self, word: str = NEW) -> str:
        """Return the name of memory, or of an item, that no other has: each round of a loop makes its own."""
        self._made += 1
        return f"{word}{self._made}"

    def _taken_out(self, held: References, steps: tuple[Step, ...]) -> References:
        """Return what a container gives: of what was made in it that part, and all that was put in it; of several
        copies only one stands at a place."""
        copies = self.copies_in(held)
        made = frozenset(each for each in held - copies if each.conversion is None and is_new(each.memory))
        if len({self._copies[each.memory] for each in copies}) > 1:
            held -= copies
        return held - made | selected(made, tuple(f"key {step}" for step in steps))

    # Reads and writes.

    def copies_in(self, references: References) -> References:
        """Return those that refer to what a copy has been written to."""
        return frozenset(each for each in references if each.memory in self._copies)

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """Take references for read; of several writes, the first in the file counts."""
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
        """True if a loop of the function brings it from a conversion back to a write that stands before it."""
        first, last = getattr(self.scopes[-1], "lineno", 1), getattr(self.scopes[-1], "end_lineno", conversion.lineno)
        return first <= row < conversion.lineno <= last

    def write(self, references: References, row: int, *, fills: bool = False) -> None:
        """Take everything else that refers to the same memory for written.

        Who writes an array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor; and the other way
        round.
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
        """True if a function is there to write through a conversion of its own."""
        call, callee = reference.conversion, self.callee
        if call is None or callee is None or not is_in_row(callee.node, call.lineno):
            return False
        return not callee.gives_value or (fills and reference.side == "tensor")

    def _mark(self, write: Write) -> None:
        self.hands_on |= write.conversion is not None
        root, *steps = map(str, write.memory)
        if write.conversion is not None and not is_new(write.memory):
            # The tensor may not have been bound to a name of its own since.
            place = (root, *(step for step in steps if is_member(step)))
            self.hold(place, self.of(place))
        for name, references in self.names.items():
            self.names[name] = frozenset(after(write, other) for other in references)

    def wait(self) -> None:
        """Take all copies for arrived."""
        self.names[ON_THE_WAY] = NOTHING

    def begin(self, call: ast.Call, written: References) -> References:
        """Begin a copy, into memory of its own where it is told no other."""
        self.is_under_way = True
        held = written or frozenset((Reference((self.new("copy "),)),))
        self._copies.update((each.memory, call) for each in held)
        self.names[ON_THE_WAY] |= held
        return held

    def consume(self, held: References, node: ast.expr, *, is_by_method: bool = False) -> None:
        """Take the values of what is held for read: a copy of them may still be on its way."""
        pending = self.names[ON_THE_WAY]
        read = [each for each in pending if any(overlap(each.memory, other.memory) for other in held)]
        for each in sorted(read, key=lambda each: (self._copies[each.memory].lineno, each.memory)):
            copy = self._copies[each.memory]
            site = Site(node if isinstance(node, ast.Call) else copy, self.scopes, (), self.statement, self._string)
            found = Read(copy, node, site, len(self.names[ON_THE_WAY]) > 1, is_by_method)
            self.sought.reads.setdefault((id(copy), id(node)), found)
            self.names[ON_THE_WAY] -= {each}

    def wait_for_device(self, node: ast.expr) -> None:
        """Wait, if a value is made of what is copied to the host: a branch on it, or printing it, does."""
        names = (each for each in walk(node) if isinstance(each, ast.Name) and each.id in self.sought.on_device)
        if self.names[ON_THE_WAY] and any(not self.copies_in(self.of(self.place(each) or ())) for each in names):
            self.wait()

    def _operand(self, node: ast.expr) -> None:
        """Read the values of an operand, or of what is tested: those of a list are not."""
        held = self.value(node)
        is_written_out = isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))
        if not (is_written_out or self.place(node) in self.containers):
            self.consume(held, node)

    # Expressions.

    def value(self, node: ast.expr | None) -> References:
        """Return what an expression refers to; whatever is read on the way is read."""
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
                self.test(node.test)
                return self.value(node.body) | self.value(node.orelse)
            case ast.BoolOp():
                return NOTHING.union(*map(self.value, node.values))
            case ast.Await() | ast.Starred():
                return self.value(node.value)
        return self._operation(node)

    def refer(self, node: ast.expr) -> References:
        """Return what an expression refers to; what is read on the way is noted, but not yet the expression itself."""
        if isinstance(node, ast.Attribute) and node.attr in PLAIN:
            return NOTHING
        place = self.place(node)
        if place is not None:
            return self.of(place)
        if isinstance(node, ast.Attribute):
            step = f"{node.attr}()" if node.attr in OF_SAME_MEMORY else f".{node.attr}"
            return self.part(self.refer(node.value), () if node.attr == "data" else (step,))
        return self._item(node) if isinstance(node, ast.Subscript) else self.value(node)

    def _item(self, node: ast.Subscript) -> References:
        base, steps = self.refer(node.value), steps_of_index(node.slice)
        self.consume(self.value(node.slice), node.slice)
        if steps is None:
            self.note(base, node.lineno)
            return self.copies_in(base)
        if self.place(node.value) in self.containers:
            return self._taken_out(base, steps)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            # `kept[0]["x"]`: an array out of a dict, no part of one
            arrays = frozenset(each for each in base if each.conversion is not None)
            return arrays | self.part(base - arrays, steps)
        return self.part(base, steps)

    def _display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> References:
        """Return what a container holds; copies only where it holds nothing else."""
        if isinstance(node, ast.Dict):
            for key in node.keys:
                self.value(key)
        parts = [self.value(each) for each in (node.values if isinstance(node, ast.Dict) else node.elts)]
        held = NOTHING.union(*parts)
        return held if all(map(self.copies_in, parts)) else held - self.copies_in(held)

    def _operation(self, node: ast.expr) -> References:
        """Look at the operands of arithmetic, a comparison, an f-string: they are read, but for tests of identity."""
        around, self._string = self._string, node if isinstance(node, ast.JoinedStr) else self._string
        is_quiet = _is_of_identity(node) or isinstance(node, (ast.Yield, ast.YieldFrom))
        for child in children_of(node):
            if isinstance(child, ast.expr):
                (self.value if is_quiet else self._operand)(child)
                if isinstance(node, ast.FormattedValue):
                    self.wait_for_device(child)
        self._string = around
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            self.wait()  # what goes on may wait before it comes back
        return NOTHING

    def test(self, node: ast.expr) -> None:
        """Look at what a branch or loop depends on: one on a tensor that is on a device waits for it."""
        plain_test = node.operand if isinstance(node, ast.UnaryOp) else node
        for each in plain_test.values if isinstance(plain_test, ast.BoolOp) else ():
            self.test(each)
        if not isinstance(plain_test, ast.BoolOp):
            self._operand(plain_test)
            if not _is_of_identity(plain_test):
                self.wait_for_device(plain_test)


def _is_of_identity(node: ast.AST) -> bool:
    """True for `x is None`, `key in found`."""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))


def _order(each: Reference | Write) -> tuple[object, ...]:
    """Return what sorts references in the same way in every run, as a set does not."""
    call = each.conversion
    return (0, 0) if call is None else (call.end_lineno, call.end_col_offset), str(each.memory)
