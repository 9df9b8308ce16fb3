"""Memory as a path of steps (`x[0]`, each item of `batches`, `model.weight`), references to it, and overlaps.
Memory that is not plainly the same, or a part of it, counts as different, and nothing is reported of it.
"""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

Side = Literal["array", "tensor"]
Path = tuple[tuple[int, int], ...]  # the branches around a statement: id of the test, number of the branch
# `.name` is an attribute, `['name']` a key: each leads to another object. All others are parts and views: `view(-1)`.
Step = str | int
Memory = tuple[Step, ...]  # the first is the name

PARAMETERS = ".parameters()"  # all memory that an optimizer writes
NEW = "new "  # prefix of the names of new memory
_MAX_STEPS = 6  # deeper parts count as the whole


class Overwritten(NamedTuple):
    """The row where shared memory is written, and the row where it is read after; `kept_in` names the attribute that
    keeps it. `comes_round`: a loop leads from the conversion back to the write."""

    write: int
    read: int
    kept_in: str | None = None
    comes_round: bool = False


class Sharing(NamedTuple):
    """For the call of each conversion: a write to the tensor that shows in the array (`of_tensors`), and one to the
    array that shows in the tensor (`of_arrays`), whichever of the two was there first."""

    of_tensors: dict[ast.Call, Overwritten]
    of_arrays: dict[ast.Call, Overwritten]


class Write(NamedTuple):
    """A write: its row, the branches around it, the memory, and the conversion and side of the reference that is
    written."""

    row: int
    path: Path
    memory: Memory
    conversion: ast.Call | None
    side: Side | None


class Reference(NamedTuple):
    """Memory that a name may refer to, and the conversion that made the reference; None for the original object.
    `side`: the conversion's result, array or tensor; None for the original, which is the other of the two. `path`: the
    branches around the conversion. `written`: the last write to the memory through the other side.
    """

    memory: Memory
    conversion: ast.Call | None = None
    side: Side | None = None
    path: Path = ()
    written: Write | None = None

    def converted(self, conversion: ast.Call, side: Side, path: Path) -> Reference | None:
        """The reference to the result of a conversion; None if the result is new memory."""
        if side == "tensor" and self.side is not None:
            return Reference(self.memory) if self.side == "array" else self
        return None if self.side == "array" else Reference(self.memory, conversion, side, path)


References = frozenset[Reference]
NOTHING: References = frozenset()


def is_member(step: Step) -> bool:
    """True if a step leads to another object, whose memory is not a part of the first one's."""
    return isinstance(step, str) and step[0] in ".["


def is_whole_item(step: Step) -> bool:
    """True for a step to one whole item: by its number, or in a loop."""
    return isinstance(step, int) or step.startswith("item ")


def is_parameter(memory: Memory) -> bool:
    return ".grad" not in memory and any(step in (PARAMETERS, ".weight", ".bias") for step in memory)


def is_new(memory: Memory) -> bool:
    return str(memory[0]).startswith(NEW)


def overlap(one: Memory, other: Memory) -> bool:
    """True if one is a part of the other, or the same."""
    short, long = sorted((one, other), key=len)
    return long[: len(short)] == short and not any(map(is_member, long[len(short) :]))


def are_apart(one: Path, other: Path) -> bool:
    """True if two statements are in different branches of one test, so that one pass does not reach both."""
    length = min(len(one), len(other))
    return one[:length] != other[:length]


def selected(references: References, steps: tuple[Step, ...]) -> References:
    """References to a part of the memory; only writes that overlap the part are kept."""
    found = set()
    for each in references:
        memory = (*each.memory, *steps)[:_MAX_STEPS]
        is_written = each.written is not None and overlap(memory, each.written.memory)
        found.add(each._replace(memory=memory, written=each.written if is_written else None))
    return frozenset(found)


def steps_of_index(index: ast.expr) -> tuple[Step, ...] | None:
    """The steps of `[index]` if it is a view or a key; None for any other index, which may copy."""
    match index:
        case ast.Tuple(parts):
            steps = [steps_of_index(part) for part in parts]
            return None if None in steps else tuple(step for each in steps if each is not None for step in each)
        case ast.Slice(None, None, None):
            return ()
        case ast.Slice():
            return (f"slice({ast.unparse(index)})",)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as number)):
            return (-number,)
        case ast.Constant(str() as key):
            return (f"[{key!r}]",)
        case ast.Constant(value):
            return (value,) if type(value) is int else (f"index({value!r})",)
    return None


def after(write: Write, reference: Reference) -> Reference:
    """A reference after a write."""
    if reference.side == write.side or not overlap(reference.memory, write.memory):
        return reference
    # A number taken from an array does not change with the array.
    may_be_number = reference.side is None and write.side == "tensor"
    if may_be_number and any(map(is_whole_item, reference.memory[len(write.memory) :])):
        return reference
    return reference if are_apart(reference.path, write.path) else reference._replace(written=write)
