"""What each place of a function refers to, and what was overwritten before it was read."""

from __future__ import annotations

import ast

from tonumpy.inference.memory.regions import (
    NOTHING,
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
)
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TOLD = 500  # sets of references of which what they have in common is kept

Handed = tuple[ast.Call, ast.Call | None]  # a conversion, and the call through which its array has come

_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())


class Overwritten(NamedTuple):
    """Where shared memory is written, and where it is read then; `kept_in` names the attribute where it is kept.

    `through`: the call of the function that holds the conversion, where that stands in another one than the rest.
    """

    write: int
    read: int
    kept_in: str | None = None
    through: ast.Call | None = None

    @property
    def tensor(self) -> str:
        """As a message names it."""
        return "the tensor" if self.through is None else f"the tensor of line {self.through.lineno}"

    @property
    def words(self) -> str:
        """How a message about it begins."""
        return f"`.numpy()` shares memory with {self.tensor}"


class _Told(NamedTuple):
    """What some references have in common, so that most are not gone through one by one, loop for loop."""

    loops: frozenset[tuple[int, int]]  # whose items they lead to
    names: frozenset[Step]  # of their memory


class _ToldOf(dict[References, _Told]):
    """Of each set of references that is asked about; few are new in a loop."""

    def __missing__(self, references: References) -> _Told:
        memories = [each.memory for each in references]
        memories += [each.written.memory for each in references if each.written is not None]
        loops = frozenset([step.loop for memory in memories for step in memory if type(step) is Item])
        if len(self) > MAX_TOLD:
            self.clear()
        told = self[references] = _Told(loops, frozenset([memory[0] for memory in memories]))
        return told


class HeldMemory:
    """What the places of one function hold, at the statement at hand; it is told in order what is bound and written."""

    def __init__(self) -> None:
        self.names: Names = {}
        self.containers: set[Place] = set()
        self.counters: dict[str, Item] = {}  # the names of the numbers of rounds
        self.of_tensors: dict[Handed, Overwritten] = {}
        self.of_arrays: dict[Handed, Overwritten] = {}
        # For those who call the function:
        self.written: set[Memory] = set()
        self.rebound: set[Place] = set()
        self._made: set[str] = set()  # the names of new memory
        self._told_of = _ToldOf()
        self._longest: dict[str, int] = {}  # the steps of the longest place under each name

    def of(self, place: Place) -> References:
        """What a place refers to: what it was bound to, or that part of what the place around it refers to."""
        return _held(self.names, place, self.containers)

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """That they are read; of several writes, the first in the file counts."""
        written = [(reference.written, reference) for reference in references if reference.written is not None]
        for write, reference in sorted(written, key=lambda each: (each[0].row, _order(each[1]), _order(each[0]))):
            if reference.conversion is not None:
                found = Overwritten(write.row, row, kept_in, reference.through)
                self.of_tensors.setdefault((reference.conversion, reference.through), found)
            elif write.conversion is not None and kept_in is None:
                found = Overwritten(write.row, row, None, write.through)
                self.of_arrays.setdefault((write.conversion, write.through), found)

    def write(self, references: References, row: int) -> None:
        """Everything else that refers to the same memory has been written then.

        Not what is the tensor on one path and a part of the array on another: `x = x.numpy()[:3]` in a branch. And who
        writes an array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor.
        """
        tensors = [each.memory for each in references if each.conversion is None]
        arrays = [each.memory for each in references if each.conversion is not None]
        held = {each.conversion for references in self.names.values() for each in references} | {None}
        writes = [
            Write(row, each.memory, each.conversion, each.through)
            for each in sorted(references, key=_order)
            if not any(overlap(each.memory, other) for other in (tensors if each.conversion else arrays))
            and each.conversion in held
        ]
        if not writes:
            return
        self.written.update(write.memory for write in writes)

        def after(reference: Reference) -> Reference:
            for write in writes:
                is_other_side = (reference.conversion is None) is not (write.conversion is None)
                if is_other_side and overlap(reference.memory, write.memory):
                    return reference._replace(written=write)
            return reference

        for write in writes:  # the tensor may not have been bound to a name of its own since
            place = place_of_memory(write.memory)
            if write.conversion is not None and place is not None:
                self.hold(place, self.of(place))
        self.names = {place: frozenset(map(after, held)) for place, held in self.names.items()}

    def bind_place(
        self, place: Place, references: References, at: tuple[int, int], value: ast.expr | None = None
    ) -> None:
        self.rebound.add(place)
        root, length = place[0], len(place)
        if self._longest.get(root, 0) > length:
            for name in [name for name in self.names if name[:length] == place and len(name) > length]:
                del self.names[name]
        is_container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)) or (
            isinstance(value, ast.Call) and getattr(value.func, "id", None) in _CONTAINERS
        )
        (self.containers.add if is_container else self.containers.discard)(place)
        self.counters.pop(place[0], None)
        if not references:
            # New memory. What the same code has made before is another's, and nobody's to write any more.
            made = f"new {at} {''.join(place)}"
            if made in self._made:
                self._forget_made(made)
            self._made.add(made)
            references = frozenset((Reference((made,)),))
        self.hold(place, references)

    def hold(self, place: Place, references: References) -> None:
        """What a place refers to; all new places come here."""
        self.names[place] = references
        if len(place) > 1:
            self._longest[place[0]] = max(len(place), self._longest.get(place[0], 0))

    def _forget_made(self, made: str) -> None:
        told_of = self._told_of
        for place, held in self.names.items():
            if made in told_of[held].names:
                self.names[place] = frozenset([each for each in held if each.written or each.memory[0] != made])

    def enter(self, loop: tuple[int, int], *, is_entered: bool) -> None:
        """The loop goes on to its next round, or is entered anew."""
        told_of = self._told_of
        self.names = {
            place: frozenset(each.in_another_round(loop, is_entered=is_entered) for each in held)
            if loop in told_of[held].loops
            else held
            for place, held in self.names.items()
        }

    def forget(self, is_gone: Callable[[Memory], bool]) -> None:
        """Nobody writes such memory any more."""
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
                held = NOTHING.union(*(_held(end, place, self.containers) for end in ends))
            found[place] = held
        return found


def _order(each: Reference | Write) -> tuple[object, ...]:
    """One that is the same in every run, as that of a set is not."""
    calls = (each.conversion, each.through)
    return (*((0, 0) if call is None else (call.end_lineno, call.end_col_offset) for call in calls), str(each.memory))


def _held(names: Names, place: Place, containers: set[Place]) -> References:
    if place in names:
        return names[place]
    around = place[:-1]
    if not around:
        return frozenset((Reference(place),))
    held = _held(names, around, containers)
    return held if around in containers else selected(held, place[-1:])
