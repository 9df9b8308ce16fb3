"""The points-to state of one function: from places to the memory they may refer to, and writes seen by later reads."""

from __future__ import annotations

import ast

from tonumpy.inference.memory.regions import (
    CONTENTS,
    NOTHING,
    Branch,
    Item,
    Memory,
    Names,
    Place,
    Reference,
    References,
    Step,
    Write,
    overlap,
    place_of_memory,
    selected,
    taken_out,
)
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from tonumpy.inference.memory.regions import Side

MAX_REFERENCES = 100  # of one place; what may refer to more, as after many loops in a row, is not followed

MAX_SHARING = 100  # places that one write shows in; any others are not followed further

Handed = tuple[ast.Call, ast.Call | None]  # a conversion, and the call through which its array has come

_END = ("from the front", "from the back")  # where a number counts from
_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())


class Overwritten(NamedTuple):
    """Where shared memory is written, and where it is read then; `kept_in` names the attribute where it is kept.

    `through`: the call of the function that holds the conversion, where that stands in another one than the rest.
    """

    write: int
    read: int
    kept_in: str | None = None
    through: ast.Call | None = None


class _Holders(dict["Hashable", set[Place]]):
    """Inverse points-to index: from memory to the places that have pointed to it; a write looks at no others.

    Never pruned: a place may point elsewhere by now, but none is missing. Parts by number are kept apart from all else
    under a name.
    """

    def note(self, place: Place, references: References) -> None:
        for each in references:
            memory = each.memory
            if each.conversion is not None:
                self.setdefault(each.conversion, set()).add(place)
            if len(memory) > 1 and isinstance(memory[1], int):
                self.setdefault(memory[:2], set()).add(place)
                self.setdefault((memory[0], _END[memory[1] < 0]), set()).add(place)
            else:
                self.setdefault(memory[:1], set()).add(place)
            for step in memory if each.written is None else (*memory, *each.written.memory):
                if type(step) is Item:
                    self.setdefault(step.loop, set()).add(place)

    def of(self, *keys: Hashable) -> set[Place]:
        return set().union(*(self.get(key, ()) for key in keys))

    def of_name(self, name: Step) -> set[Place]:
        return self.of((name,), *((name, end) for end in _END))

    def of_overlapping(self, memory: Memory) -> set[Place]:
        """Those of all memory that a write to this may show in: parts by two numbers are apart."""
        if len(memory) == 1 or not isinstance(memory[1], int):
            return self.of_name(memory[0])
        return self.of(memory[:1], memory[:2], (memory[0], _END[memory[1] >= 0]))


class Sides:
    """What conversions tell of what they are given: that it is an array, or a tensor."""

    def __init__(self) -> None:
        self._arrays: set[Step] = set()  # the names of memory of which a tensor has been made
        self._converted: dict[Memory, Side | None] = {}  # None where both have been made of it

    def note(self, references: References, made: Side) -> None:
        """That a conversion makes this of them, so that they have been the other."""
        side: Side = "tensor" if made == "array" else "array"
        for each in references:
            if each.side is None:
                known = self._converted.get(each.memory, side)
                self._converted[each.memory] = side if known == side else None
                if made == "tensor":
                    self._arrays.add(each.memory[0])

    def of(self, reference: Reference) -> Side | None:
        """What it is to, where that is known."""
        return reference.side or self._converted.get(reference.memory)

    def is_array(self, reference: Reference) -> bool:
        """True if the reference is to an array, or to something that holds arrays."""
        return reference.side == "array" or (reference.side is None and reference.memory[0] in self._arrays)


class PointsToState:
    """The points-to sets of all places at the current statement; bindings and writes are reported to it in order."""

    def __init__(self) -> None:
        self.names: Names = {}
        self.branch = Branch()
        self.containers: set[Place] = set()
        self.counters: dict[str, Item] = {}  # the names of the numbers of rounds
        self.of_tensors: dict[Handed, Overwritten] = {}
        self.of_arrays: dict[Handed, Overwritten] = {}
        # For those who call the function:
        self.written: set[Reference] = set()
        self.rebound: set[Place] = set()
        self.sides = Sides()
        self._tuples: set[Place] = set()
        self._made: set[str] = set()  # the names of new memory
        self._holders = _Holders()
        self._longest: dict[str, int] = {}  # the steps of the longest place under each name

    def of(self, place: Place) -> References:
        """The references of a place: what it was bound to, or that part of what the place around it refers to."""
        return _held(self.names, place, self.containers)

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """That they are read; of several writes, the first in the file counts."""
        written = [(reference.written, reference) for reference in references if reference.written is not None]
        for write, reference in sorted(written, key=lambda each: (each[0].row, _order(each[1]), _order(each[0]))):
            # Where both have been converted, the array was made of the tensor, and that of an array.
            is_made = reference.side == "array" or (reference.side == "tensor" and write.side is None)
            conversion, through, _ = reference[1:4] if is_made else write[2:5]
            if (
                conversion is not None
                and (is_made or kept_in is None)
                and not _is_elsewhere(self.branch, reference, write)
            ):
                is_array = reference.side == "array" or (reference.side is None and write.side == "tensor")
                to = self.of_tensors if is_array else self.of_arrays
                to.setdefault((conversion, through), Overwritten(write.row, row, kept_in, through))

    def write(self, references: References, row: int) -> None:
        """Everything else that refers to the same memory has been written then.

        Not what is the tensor on one path and a part of the array on another: `x = x.numpy()[:3]` in a branch. And who
        writes an array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor; and the other way round.
        """
        first = [each.memory for each in references if each.conversion is None]
        made = [each.memory for each in references if each.conversion is not None]
        writes = [
            Write(row, each.memory, each.conversion, each.through, each.side, self.branch.shown)
            for each in sorted(references, key=_order)
            if not any(overlap(each.memory, other) for other in (first if each.conversion else made))
            and (each.conversion is None or self._holds(each.conversion))
        ]
        if not writes:
            return
        self.written.update(Reference(write.memory) for write in writes)

        for write in writes:  # the tensor may not have been bound to a name of its own since
            place = place_of_memory(write.memory)
            if write.conversion is not None and place is not None:
                self.hold(place, self.of(place))
        changed = []
        for place in set().union(*(self._holders.of_overlapping(write.memory) for write in writes)):
            before = self.names.get(place)
            references = frozenset(_after(writes, self.branch, each) for each in before) if before else NOTHING
            if before and references != before:
                changed.append((place, references))
        for number, (place, references) in enumerate(sorted(changed) if len(changed) > MAX_SHARING else changed):
            self.hold(place, references if number < MAX_SHARING else NOTHING)

    def _holds(self, conversion: ast.Call) -> bool:
        """Whether a place holds an array that was made so."""
        places = self._holders.of(conversion)
        return any(each.conversion is conversion for place in places for each in self.names.get(place, NOTHING))

    def is_one_object(self, place: Place) -> bool:
        """Whether what a place refers to is what it holds, and not something in it."""
        return place not in self.containers and place not in self._tuples

    def bind_place(
        self, place: Place, references: References, at: tuple[int, int], value: ast.expr | None = None
    ) -> None:
        """Bind a place to `references`, or to new memory if there are none."""
        self.rebound.add(place)
        root, length = place[0], len(place)
        if self._longest.get(root, 0) > length:
            for name in [name for name in self.names if name[:length] == place and len(name) > length]:
                del self.names[name]
        is_container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)) or (
            isinstance(value, ast.Call) and getattr(value.func, "id", None) in _CONTAINERS
        )
        (self.containers.add if is_container else self.containers.discard)(place)
        if type(value) is ast.Tuple:
            self._tuples.add(place)
        elif self._tuples:
            self._tuples.discard(place)
        self.counters.pop(place[0], None)
        if not references:
            # New memory. What the same code has made before is another's, and nobody's to write any more.
            made = f"{CONTENTS if is_container else 'new '}{at} {''.join(place)}"
            if made in self._made:
                self._forget_made(made)
            self._made.add(made)
            references = frozenset((Reference((made,)),))
        self.hold(place, references)

    def hold(self, place: Place, references: References) -> None:
        """Set the references of a place; all new places come here."""
        self.names[place] = self._followed(place, references)
        if len(place) > 1:
            self._longest[place[0]] = max(len(place), self._longest.get(place[0], 0))

    def _followed(self, place: Place, references: References) -> References:
        """As far as what a place refers to is followed; from now on the place is found under it."""
        if len(references) > MAX_REFERENCES:
            return NOTHING
        self._holders.note(place, references)
        return references

    def _forget_made(self, made: str) -> None:
        for place in self._holders.of_name(made) & self.names.keys():
            held = self.names[place]
            self.names[place] = frozenset([each for each in held if each.written or each.memory[0] != made])

    def enter(self, loop: tuple[int, int], *, is_entered: bool) -> None:
        """The loop goes on to its next round, or is entered anew."""
        for place in self._holders.of(loop) & self.names.keys():
            held = self.names[place]
            self.names[place] = frozenset(each.in_another_round(loop, is_entered=is_entered) for each in held)

    def forget(self, is_gone: Callable[[Memory], bool]) -> None:
        """Drop references to memory that nobody writes any more."""
        for place, held in self.names.items():
            if any(is_gone(each.memory) and not each.written for each in held):
                self.names[place] = frozenset(each for each in held if each.written or not is_gone(each.memory))

    def matching(self, is_wanted: Callable[[Memory], bool]) -> References:
        """The tensors of which a name holds the memory, or an array that shares it."""
        memories = {each.memory for held in self.names.values() for each in held}
        return frozenset(Reference(memory) for memory in memories if is_wanted(memory))

    def joined(self, ends: list[Names]) -> Names:
        """What holds after one of several ways; most places hold the same after all of them."""
        found: Names = {}
        for place in {place for end in ends for place in end}:
            held = ends[0].get(place)
            if held is None or any(end.get(place) is not held for end in ends):
                held = self._followed(place, NOTHING.union(*(_held(end, place, self.containers) for end in ends)))
            found[place] = held
        return found


def _order(each: Reference | Write) -> tuple[object, ...]:
    """One that is the same in every run, as that of a set is not."""
    calls = (each.conversion, each.through)
    return (*((0, 0) if call is None else (call.end_lineno, call.end_col_offset) for call in calls), str(each.memory))


def _after(writes: list[Write], branch: Branch, reference: Reference) -> Reference:
    for write in writes:
        if reference.side == write.side or not overlap(reference.memory, write.memory):
            continue
        if not _is_number(reference, write) and not _is_elsewhere(branch, reference, write):
            return reference._replace(written=write)
    return reference


def _is_number(reference: Reference, write: Write) -> bool:
    """Whether it may be a number out of an array, which no write to that changes."""
    further_in = reference.memory[len(write.memory) :]
    is_of_array = reference.side is None and write.side == "tensor"
    return is_of_array and any(isinstance(step, (int, Item)) for step in further_in)


def _is_elsewhere(branch: Branch, reference: Reference, write: Write) -> bool:
    """Whether no run that comes here has both made the one and done the other."""
    calls = (each.through or each.conversion for each in (reference, write))
    return branch.excludes(write.under) or any(map(branch.is_apart_from, filter(None, calls)))


def _held(names: Names, place: Place, containers: set[Place]) -> References:
    if place in names:
        return names[place]
    around = place[:-1]
    if not around:
        return frozenset((Reference(place),))
    held = _held(names, around, containers)
    return taken_out(held, place[-1:]) if around in containers else selected(held, place[-1:])
