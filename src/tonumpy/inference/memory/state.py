"""What the places of one function refer to at the statement at hand, and the writes that later reads see."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.inference.memory.regions import (
    NOTHING,
    Names,
    Path,
    Place,
    Reference,
    References,
    Write,
    are_apart,
    is_member,
    is_whole_item,
    overlap,
    selected,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.inference.memory.regions import Memory

Handed = tuple[ast.Call, ast.Call | None]  # a conversion, and the call through which its array has come

MAX_REFERENCES = 50  # of one place; what may refer to more, as after many loops in a row, is not followed
_MAX_PLACES = 100  # of a function, since each write looks at all of them; further ones are not followed
_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())
NEW = "new "  # begins the name of memory that is made here


class Overwritten(NamedTuple):
    """Where shared memory is written, and where it is read then; `kept_in` names the attribute where it is kept.

    `through`: the call of the function that holds the conversion, where that stands in another one than the rest.
    """

    write: int
    read: int
    kept_in: str | None = None
    through: ast.Call | None = None


class State:
    """Bindings, reads and writes are reported to it in order."""

    def __init__(self) -> None:
        self.names: Names = {}
        self.path: Path = ()
        self.containers: set[Place] = set()
        self.arrays: set[Memory] = set()  # of which a tensor has been made
        self.of_tensors: dict[Handed, Overwritten] = {}
        self.of_arrays: dict[Handed, Overwritten] = {}
        # For those who call the function:
        self.written: set[Reference] = set()
        self.converted: set[Reference] = set()  # what was written through a conversion that is held
        self.rebound: set[Place] = set()

    def of(self, place: Place) -> References:
        """The references of a place: what it was bound to, or that part of what the place around it refers to."""
        if place in self.names:
            return self.names[place]
        if len(place) == 1:
            return frozenset((Reference(place),))
        held = self.of(place[:-1])
        return self.taken_out(held, place[-1:]) if place[:-1] in self.containers else selected(held, place[-1:])

    def taken_out(self, held: References, steps: tuple[str | int, ...]) -> References:
        """What a container gives for a literal index: of what was made in it that part, else all that was put in it."""
        made = frozenset(each for each in held if each.conversion is None and str(each.memory[0]).startswith(NEW))
        return held - made | selected(made, tuple(f"key {step}" for step in steps))

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """That they are read; of several writes, the first in the file counts."""
        written = [(each.written, each) for each in references if each.written is not None]
        for write, reference in sorted(written, key=lambda each: (each[0].row, _order(each[1]), _order(each[0]))):
            source = _made_last(reference, write)
            is_reached = not are_apart(self.path, write.path) and not are_apart(self.path, reference.path)
            if source.conversion is not None and (source is reference or kept_in is None) and is_reached:
                to = self.of_tensors if _is_array(reference, write) else self.of_arrays
                to.setdefault((source.conversion, source.through), Overwritten(write.row, row, kept_in, source.through))

    def write(self, references: References, row: int, *, fills: bool = False) -> None:
        """Everything else that refers to the same memory has been written then; `fills`: with what it never was.

        Who writes an array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor; and the other way
        round.
        """
        held = {each.conversion for held in self.names.values() for each in held}
        for each in _on_one_side(references):
            is_seen = each.conversion is None or each.conversion in held
            if is_seen and not are_apart(self.path, each.path):
                self.written.add(Reference(each.memory))
                is_meant = fills and each.side == "tensor"  # an array to be filled
                if each.conversion is not None and each.through is None and not is_meant:
                    self.converted.add(Reference(each.memory, each.conversion, side=each.side))
                self._mark(Write(row, self.path, each.memory, each.conversion, each.through, each.side))

    def write_within(self, references: References, call: ast.Call) -> None:
        """A function that is called has written what it has made of its arguments and held."""
        for each in sorted(references, key=_order):
            self._mark(Write(call.lineno, self.path, each.memory, each.conversion, call, each.side))
        self.converted |= references

    def _mark(self, write: Write) -> None:
        """What refers to the memory from now on has been written so."""
        root, *steps = map(str, write.memory)
        if write.conversion is not None and not root.startswith(NEW):
            # The tensor may not have been bound to a name of its own since.
            place = (root, *(step for step in steps if is_member(step)))
            self.hold(place, self.of(place))
        for name, references in self.names.items():
            self.names[name] = frozenset(_after(write, other) for other in references)

    def bind_place(
        self, place: Place, references: References, at: tuple[int, int], value: ast.expr | None = None
    ) -> None:
        """Bind a place to `references`, or to new memory if there are none."""
        self.rebound.add(place)
        length = len(place)
        for name in [name for name in self.names if len(name) > length and name[:length] == place]:
            del self.names[name]
        is_container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)) or (
            isinstance(value, ast.Call) and getattr(value.func, "id", None) in _CONTAINERS
        )
        (self.containers.add if is_container else self.containers.discard)(place)
        if not references:
            # What the same code has made before is another's, and nobody's to write any more.
            made = f"{NEW}{at} {''.join(place)}"
            self.forget(lambda memory: memory[0] == made)
            references = frozenset((Reference((made,)),))
        self.hold(place, references)

    def hold(self, place: Place, references: References) -> None:
        """Set the references of a place; all new places come here."""
        if place in self.names or len(self.names) < _MAX_PLACES:
            self.names[place] = references if len(references) <= MAX_REFERENCES else NOTHING

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
        """What holds after one of several ways."""
        found: Names = {}
        for place in {place for end in ends for place in end}:
            references: References = NOTHING
            for end in ends:
                self.names = end
                references |= self.of(place)
            found[place] = references if len(references) <= MAX_REFERENCES else NOTHING
        return found


def _order(each: Reference | Write) -> tuple[object, ...]:
    """One that is the same in every run, as that of a set is not."""
    calls = (each.conversion, each.through)
    return (*((0, 0) if call is None else (call.end_lineno, call.end_col_offset) for call in calls), str(each.memory))


def _on_one_side(references: References) -> list[Reference]:
    """Without what is the tensor on one path and a part of the array on another: `x = x.numpy()[:3]` in a branch."""
    first = [each.memory for each in references if each.conversion is None]
    made = [each.memory for each in references if each.conversion is not None]
    return [
        each
        for each in sorted(references, key=_order)
        if not any(overlap(each.memory, other) for other in (first if each.conversion is not None else made))
    ]


def _made_last(reference: Reference, write: Write) -> Reference | Write:
    """The one of both whose conversion made it of the other: an array was made of the tensor, and that of an array."""
    is_made = reference.side == "array" or (reference.side == "tensor" and write.side is None)
    return reference if is_made else write


def _is_array(reference: Reference, write: Write) -> bool:
    """Whether what is read is the array of the two sides."""
    return reference.side == "array" or (reference.side is None and write.side == "tensor")


def _after(write: Write, reference: Reference) -> Reference:
    if reference.side == write.side or not overlap(reference.memory, write.memory):
        return reference
    if are_apart(reference.path, write.path) or _may_be_number(reference, write):
        return reference
    return reference._replace(written=write)


def _may_be_number(reference: Reference, write: Write) -> bool:
    """Whether it may be a number out of an array, which no write to that changes."""
    further_in = reference.memory[len(write.memory) :]
    is_of_array = reference.side is None and write.side == "tensor"
    return is_of_array and any(map(is_whole_item, further_in))
