"""Memory regions: paths of steps (`x[0]`, each item of `batches`, `model.weight`), and whether two overlap.

What is not plainly the same memory, or a part of it, is taken for other memory, of which nothing is said.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Side = Literal["array", "tensor"]

PARAMETERS = ".parameters()"  # all that an optimizer writes
GRAD = ".grad"
VIEWING_ATTRIBUTES = frozenset("T mT H mH real flat".split())
_OF_THE_SAME = VIEWING_ATTRIBUTES | {"data"}
_COPY_OF_ARRAY = "flatten()"  # a tensor's is a view
_MAX_STEPS = 6  # what is selected further in counts as the whole of it

# `.name` is an attribute, `['name']` a key: each leads to another object. All others are parts and views: `view(-1)`.
Step = str | int
Memory = tuple[Step, ...]  # the first is the name
Path = tuple[tuple[int, int], ...]  # the branches around a statement: a test, and which of its outcomes leads there


def is_member(step: Step) -> bool:
    """Whether it leads to another object, whose memory is not a part of the first one's."""
    return isinstance(step, str) and step[0] in ".["


def item_of_loop(loop: tuple[int, int]) -> str:
    """What a loop takes out of what it goes through."""
    return f"item {loop}"


def is_whole_item(step: Step) -> bool:
    """Whether it is one item, all of it: by its number, or of a loop."""
    return isinstance(step, int) or step.startswith("item ")


def is_parameter(memory: Memory) -> bool:
    return GRAD not in memory and any(step in (PARAMETERS, ".weight", ".bias") for step in memory)


def module_of(memory: Memory) -> Memory:
    """That of `model` for `model.parameters()` and for each of them."""
    return memory[: memory.index(PARAMETERS)] if PARAMETERS in memory else memory


def overlap(one: Memory, other: Memory) -> bool:
    """Whether one is the other, or a part of it."""
    short, long = sorted((one, other), key=len)
    return long[: len(short)] == short and not any(map(is_member, long[len(short) :]))


def are_apart(one: Path, other: Path) -> bool:
    """Whether no run that nothing else decides comes to both: under the same test, or two tests, or one of them."""
    length = min(len(one), len(other))
    return one[:length] != other[:length]


def steps_of_index(index: ast.expr) -> tuple[Step, ...] | None:
    """Those of `[index]` where that is a view or a key; None for any other index, which may copy."""
    if isinstance(index, ast.Tuple):
        parts = [steps_of_index(part) for part in index.elts]
        return None if None in parts else tuple(step for part in parts if part is not None for step in part)
    if isinstance(index, ast.Slice):
        whole = index.lower is index.upper is index.step is None
        return () if whole else (f"slice({ast.unparse(index)})",)
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        return (-index.operand.value,) if type(index.operand.value) is int else None
    if not isinstance(index, ast.Constant):
        return None
    if type(index.value) is int:
        return (index.value,)
    return (f"[{index.value!r}]",) if isinstance(index.value, str) else (f"index({index.value!r})",)


class Write(NamedTuple):
    """The row of a write, the branches around it, and the memory that it writes; the rest is that of the reference by
    which it does."""

    row: int
    path: Path
    memory: Memory
    conversion: ast.Call | None
    through: ast.Call | None
    side: Side | None


class Reference(NamedTuple):
    """Memory that a name may refer to, and the conversion by which it does; None where it holds what was there first.

    `side`: what the conversion has made; None where there was none, and it is the other of the two.
    `through`: the call, here, of the function that holds the conversion; None where that stands here itself.
    `path`: the branches around the conversion, or that call.
    `written`: how it was written since through the other side.
    """

    memory: Memory
    conversion: ast.Call | None = None
    through: ast.Call | None = None
    side: Side | None = None
    path: Path = ()
    written: Write | None = None

    def converted(
        self, conversion: ast.Call, side: Side, path: Path, through: ast.Call | None = None
    ) -> Reference | None:
        """What a conversion makes of it; None where that is new memory."""
        if side == "tensor":
            if self.side == "array":
                return Reference(self.memory)  # back where it came from
            if self.side == "tensor":
                return self
            return None if _COPY_OF_ARRAY in self.memory else Reference(self.memory, conversion, through, side, path)
        return None if self.side == "array" else Reference(self.memory, conversion, through, side, path)


References = frozenset[Reference]
Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, References]
NOTHING: References = frozenset()


def selected(references: References, steps: tuple[Step, ...]) -> References:
    """A part of them; another part's writes do not concern it."""
    found = set()
    for each in references:
        memory = (*each.memory, *steps)[:_MAX_STEPS]
        is_written = each.written is not None and overlap(memory, each.written.memory)
        found.add(each._replace(memory=memory, written=each.written if is_written else None))
    return frozenset(found)


def place_of(node: ast.expr) -> Place | None:
    """Names, their attributes and what stands under literal keys: `batch["image"].mask`; None for anything else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        place = place_of(node.value)
        if place is None or place in (("self",), ("cls",)) or node.attr not in _OF_THE_SAME:
            return None if place is None else (*place, f".{node.attr}")
        return place if node.attr == "data" else None  # the tensor without its grad
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        place = place_of(node.value)
        return None if place is None else (*place, f"[{node.slice.value!r}]")
    return None
