"""Memory regions: paths of steps (`x[0]`, each item of `batches`, `model.weight`), and whether two may overlap.

Values are unknown: regions that may be the same count as the same, unless their steps tell them apart.
"""

from __future__ import annotations

import ast
import itertools

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    Side = Literal["array", "tensor"]

CONTENTS = "contents "  # begins the name of all that is made anew in a container
_COPY_OF_ARRAY = "flatten()"  # a tensor's is a view
MAX_STEPS = 6  # what is selected further in counts as the whole of it


class Slice(NamedTuple):
    """`[lower:upper]`, by its text."""

    lower: str
    upper: str


class Item(NamedTuple):
    """What a loop takes out of what it goes through: another one in every round.

    `is_kept`: another loop over the same finds the same items; a loader's are new each time.
    """

    loop: tuple[int, int]
    is_kept: bool
    round: Literal["this", "earlier", "any"] = "this"


class Key(NamedTuple):
    """What a container that was made here holds under a literal key, apart from what it holds under any other."""

    literal: str


# Of the strings `.name` is an attribute, `['name']` a key, and any other a method that gives a view: `view(-1)`.
Step = str | int | Slice | Item | Key
Memory = tuple[Step, ...]  # the first is the name

PARAMETERS = ".parameters()"  # all that an optimizer writes
GRAD = ".grad"
VIEWING_ATTRIBUTES = frozenset("T mT H mH real flat".split())
_OF_THE_SAME = VIEWING_ATTRIBUTES | {"data"}


def further(memory: Memory, steps: Iterable[Step]) -> Memory:
    return (*memory, *steps)[:MAX_STEPS]


def is_parameter(memory: Memory) -> bool:
    return GRAD not in memory and any(step in (PARAMETERS, ".weight", ".bias") for step in memory)


def module_of(memory: Memory) -> Memory:
    """That of `model` for `model.parameters()` and for each of them."""
    return memory[: memory.index(PARAMETERS)] if PARAMETERS in memory else memory


def is_member(step: Step) -> bool:
    """Whether it leads to another object, whose memory is not a part of the first one's."""
    return isinstance(step, str) and step[0] in ".["


def overlap(one: Memory, other: Memory) -> bool:
    """Whether a write to one may show in the other."""
    if one[0] != other[0]:
        return False
    for all_of_them, each in ((one, other), (other, one)):
        if PARAMETERS in all_of_them and PARAMETERS not in each:
            module = module_of(all_of_them)
            return each[: len(module)] == module and is_parameter(each)
    if list(filter(is_member, one[1:])) != list(filter(is_member, other[1:])):
        return False
    for step, its_step in zip(one[1:], other[1:], strict=False):
        if step != its_step:
            return not _are_apart(step, its_step)
    return True


def _are_apart(one: Step, other: Step) -> bool:
    if isinstance(one, Key) and isinstance(other, Key):
        return one != other
    if isinstance(one, int) and isinstance(other, int):
        return (one < 0) is (other < 0)
    if isinstance(one, Slice) and isinstance(other, Slice):
        return "" != one.upper == other.lower or "" != other.upper == one.lower
    if isinstance(one, Item) and isinstance(other, Item):
        if one.loop == other.loop:
            return one.round != other.round and "any" not in (one.round, other.round)
        return not (one.is_kept or other.is_kept)
    return False


def steps_of_index(index: ast.expr, counters: Mapping[str, Item]) -> tuple[Step, ...] | None:
    """Those of `[index]` where that is a view or a key; None for any other index, which may copy.

    `counters` are names that hold the number of a loop's round.
    """
    if isinstance(index, ast.Name) and index.id in counters:
        return (counters[index.id],)
    if isinstance(index, ast.Tuple):
        parts = [steps_of_index(part, counters) for part in index.elts]
        return None if None in parts else tuple(step for part in parts if part is not None for step in part)
    if isinstance(index, ast.Slice):
        if index.step is not None:
            return (f"slice({ast.unparse(index)})",)
        return (Slice(_text(index.lower), _text(index.upper)),)
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        return (-index.operand.value,) if type(index.operand.value) is int else None
    if not isinstance(index, ast.Constant):
        return None
    if type(index.value) is int:
        return (index.value,)
    return (f"[{index.value!r}]",) if isinstance(index.value, str) else (f"index({index.value!r})",)


def _text(bound: ast.expr | None) -> str:
    return "" if bound is None else ast.unparse(bound)


def in_another_round(memory: Memory, loop: tuple[int, int], *, is_entered: bool) -> Memory:
    """The same memory once the loop goes on to its next round, or is entered anew."""
    if not any(isinstance(step, Item) and step.loop == loop for step in memory):
        return memory
    return tuple(
        step._replace(round="any" if is_entered and step.is_kept else "earlier" if step.round == "this" else step.round)
        if isinstance(step, Item) and step.loop == loop
        else step
        for step in memory
    )


class Write(NamedTuple):
    """The row of a write, under which conditions it stands, and the memory that it writes; the rest is that of the
    reference by which it does."""

    row: int
    memory: Memory
    conversion: ast.Call | None
    through: ast.Call | None
    side: Side | None
    under: Conditions


class Reference(NamedTuple):
    """Memory that a name may refer to, and the conversion by which it does; None where it holds what was there first.

    `side`: what the conversion has made; None where there was none, and it is the other of the two.
    `through`: the call, here, of the function that holds the conversion; None where that stands here itself.
    `written`: how it was written since through the other side.
    """

    memory: Memory
    conversion: ast.Call | None = None
    through: ast.Call | None = None
    written: Write | None = None
    side: Side | None = None

    def in_another_round(self, loop: tuple[int, int], *, is_entered: bool) -> Reference:
        memory = in_another_round(self.memory, loop, is_entered=is_entered)
        if memory is self.memory:
            return self
        if self.written is None:
            return self._replace(memory=memory)
        written = in_another_round(self.written.memory, loop, is_entered=is_entered)
        return self._replace(memory=memory, written=self.written._replace(memory=written))

    def converted(self, conversion: ast.Call, side: Side, through: ast.Call | None = None) -> Reference | None:
        """What a conversion makes of it; None where that is new memory."""
        if side == "tensor":
            if self.side == "array":
                return Reference(self.memory)  # back where it came from
            if self.side == "tensor":
                return self
            return None if _COPY_OF_ARRAY in self.memory else Reference(self.memory, conversion, through, side=side)
        return None if self.side == "array" else Reference(self.memory, conversion, through, side=side)


References = frozenset[Reference]
Place = tuple[str, ...]  # `self`, `.model`, `.weight`; `batch`, `['image']`
Names = dict[Place, References]
NOTHING: References = frozenset()


def selected(references: References, steps: tuple[Step, ...]) -> References:
    """A part of them; another part's writes do not concern it."""
    found = set()
    for each in references:
        memory = further(each.memory, steps)
        is_written = each.written is not None and overlap(memory, each.written.memory)
        written = each.written if is_written else None
        found.add(Reference(memory, each.conversion, each.through, written, each.side))
    return frozenset(found)


def taken_out(references: References, steps: tuple[Step, ...]) -> References:
    """What a container gives for a literal index: of those made anew in it that one, else any that was put into it."""
    step = steps[0] if len(steps) == 1 else None
    if isinstance(step, str):
        step = Key(step)
    if not isinstance(step, (int, Key)):
        return references
    made = frozenset(each for each in references if each.conversion is None and _is_contents(each.memory))
    return references - made | selected(made, (step,))


def _is_contents(memory: Memory) -> bool:
    return len(memory) == 1 and str(memory[0]).startswith(CONTENTS)


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


def place_of_memory(memory: Memory) -> Place | None:
    """Where a name for memory begins that is not one of a loop's items."""
    if any(isinstance(step, Item) for step in memory):
        return None
    steps = itertools.takewhile(is_member, memory[1:])
    return (str(memory[0]), *map(str, steps))


class Condition(NamedTuple):
    """`literal` is the text of what a test compares with for equality, if that is a literal."""

    test: str
    literal: str | None
    holds: bool

    def contradicts(self, other: Condition) -> bool:
        if self.test != other.test:
            return False
        return self.holds != other.holds if self.literal == other.literal else self.holds and other.holds


Conditions = frozenset[Condition]
ALWAYS: Conditions = frozenset()
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is}


def shown_by(test: ast.expr, holds: bool) -> Conditions:
    """What is so where a test holds, or does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return shown_by(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        all_are_so = isinstance(test.op, ast.And) is holds
        return ALWAYS.union(*(shown_by(part, holds) for part in test.values)) if all_are_so else ALWAYS
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return frozenset((Condition(ast.unparse(test), None, holds),))
    operator, right = type(test.ops[0]), test.comparators[0]
    asked, holds = _OPPOSITES.get(operator, operator), holds is (operator not in _OPPOSITES)
    is_literal = asked is ast.Eq and isinstance(right, ast.Constant)
    compared = "" if is_literal else ast.unparse(right)
    literal = ast.unparse(right) if is_literal else None
    return frozenset((Condition(f"{ast.unparse(test.left)} {asked.__name__} {compared}", literal, holds),))


class Branch:
    """What the tests around the statement at hand show, and have shown where memory came to be shared."""

    def __init__(self) -> None:
        self.shown = ALWAYS
        self._at_calls: dict[ast.Call, Conditions] = {}

    def note(self, call: ast.Call) -> None:
        """That a call may share memory, or hand on what a function has made to do so."""
        self._at_calls[call] = self._at_calls.get(call, self.shown) & self.shown

    def is_apart_from(self, call: ast.Call) -> bool:
        return self.excludes(self._at_calls.get(call, ALWAYS))

    def excludes(self, there: Conditions) -> bool:
        """Whether no run that comes here has been there."""
        return any(one.contradicts(other) for one in self.shown for other in there)
