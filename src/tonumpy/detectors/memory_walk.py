"""From a function to the conversions whose array and tensor share memory that is written on one side and then read on
the other.

What is not followed is forgotten: a value that is not plainly a view, a conversion or what a name holds is new memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from tonumpy.detectors.callees import Callees
from tonumpy.detectors.forward_walk import OF_SAME_MEMORY, ForwardWalk, Place, place_of, run_with_callers
from tonumpy.detectors.memory_regions import (
    GRAD,
    NEW,
    NOTHING,
    PARAMETERS,
    Memory,
    Overwritten,
    Reference,
    References,
    Sharing,
    Side,
    Write,
    after,
    are_apart,
    is_member,
    is_parameter,
    overlap,
    selected,
    steps_of_index,
)
from tonumpy.detectors.memory_writes import (
    METHODS_OF_ARRAYS,
    has_optimizer,
    steps_optimizer,
    writes_itself,
    written_arguments,
)
from tonumpy.detectors.shared_calls import converted_by, shares, side_of
from tonumpy.engine.knowledge.chains import Role, chain_of
from tonumpy.engine.names.bindings import arguments_of, is_false
from tonumpy.text.candidates import Candidate, Scope, Site
from tonumpy.text.names import last_name
from tonumpy.text.source import Source
from tonumpy.text.syntax import walk

# Methods of tensors that give another view of the same memory, or of a copy where there can be none.
_VIEWS = frozenset(
    "view view_as reshape ravel flatten unflatten squeeze unsqueeze transpose t swapaxes permute movedim expand"
    " expand_as narrow select unfold values diagonal unbind chunk split".split()
)
_THE_SAME = frozenset("detach cpu contiguous".split())  # or a copy
_VIEWS_AND_COPIES = _VIEWS | _THE_SAME  # of tensors and arrays alike, where both have it
_LIBRARIES = (("torch",), ("np",), ("numpy",))
_PLAIN = frozenset("shape dtype device ndim size dim numel nbytes itemsize stride is_cuda requires_grad".split())
_OF_MODULES = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_PASSING = frozenset("list tuple reversed enumerate zip iter sorted memoryview".split())
_PASSING_OF_LIBRARIES = frozenset("from_numpy as_tensor asarray asanyarray".split())
_FILLING = frozenset("copy_ fill_ zero_ normal_ uniform_ random_ exponential_ bernoulli_".split())
_MAX_PLACES = 100  # of a function, since each write looks at all of them; further ones are not followed
_ASKING_FOR_TYPE = frozenset("type isinstance hasattr is_tensor issubclass".split())


def sharing_of(source: Source, candidates: Sequence[Candidate], sharers: Sequence[Site]) -> Sharing:
    """Run over the functions that hold conversions, and those that call them, and return what is written through the
    memory that they share."""
    candidates = [each for each in candidates if not each.is_unbound]
    conversions: dict[ast.Call, Side] = {each.call: "array" for each in candidates}
    conversions.update((each.call, side_of(each.call)) for each in sharers)
    found, functions = Sharing({}, {}), Callees(source)
    waiting: list[tuple[Scope, ...]] = [*(each.scopes for each in candidates), *(each.scopes for each in sharers)]
    run_with_callers(lambda scopes: _MemoryWalk(conversions, found, functions, scopes), waiting, functions)
    return found


class _MemoryWalk(ForwardWalk[Reference]):
    """The run over one function, and over those of the module that it calls. What it finds is added to `found`."""

    def __init__(
        self, conversions: Mapping[ast.Call, Side], found: Sharing, functions: Callees, scopes: tuple[Scope, ...]
    ) -> None:
        super().__init__(functions, scopes)
        self._conversions = conversions
        self._found = found
        self._arrays: set[Memory] = set()  # of which a tensor has been made
        self._has_converted = False
        self._inner: set[ast.Call] = set()  # conversions in functions that are called
        self._meant: set[ast.Call] = set()  # and in those that are there to write what they are given
        self._handed: set[str | int] = set()  # the memory of what has been given away: an optimizer may have it

    # What places refer to.

    def of(self, place: Place) -> References:
        """Return what a place was bound to, or that part of what the place around it refers to."""
        if place in self.names:
            return self.names[place]
        if len(place) == 1:
            return frozenset((Reference(place),))
        held = self.of(place[:-1])
        return self._taken_out(held, place[-1:]) if place[:-1] in self.containers else selected(held, place[-1:])

    def _taken_out(self, held: References, steps: tuple[str | int, ...]) -> References:
        """Return what a container gives: of what was made in it that part, and all that was put in it."""
        made = frozenset(each for each in held if each.conversion is None and str(each.memory[0]).startswith(NEW))
        return held - made | selected(made, tuple(f"key {step}" for step in steps))

    def bind_place(self, place: Place, held: References, target: ast.expr, value: ast.expr | None) -> None:  # noqa: ARG002
        """Bind a place to references, or to new memory if there are none; what the same code has made before is
        another's, and nobody's to write any more."""
        if not held:
            made = f"{NEW}{target.lineno, target.col_offset} {''.join(place)}"
            self._forget(lambda memory: memory[0] == made)
            held = frozenset((Reference((made,)),))
        self.hold(place, held)

    def receiver_of(self, node: ast.expr) -> References:
        return self._refer(node, writes=True)

    def hold(self, place: Place, held: References) -> None:
        """Set what a place holds, within what is followed."""
        if place in self.names or len(self.names) < _MAX_PLACES:
            self.names[place] = held

    def store(self, target: ast.Subscript, held: References) -> None:
        """Keep a value in a container, or copy it into a tensor or array."""
        self.value(target.slice)
        base: ast.expr = target.value
        while isinstance(base, ast.Subscript) and self.place(base) not in self.containers:
            base = base.value
        place = self.place(base)
        if place is not None and place in self.containers:
            self.hold(place, self.of(place) | held)
        else:
            self._write(self._assigned(target), target.lineno, fills=True)

    def augment(self, statement: ast.AugAssign) -> None:
        held, place = self.value(statement.value), self.place(statement.target)
        if place is not None and place in self.containers:
            self.hold(place, self.of(place) | held)
        else:
            self._write(self._assigned(statement.target), statement.lineno)

    def _assigned(self, target: ast.expr) -> References:
        """Return what `target[...] = value` or `target += value` writes, by an index of any kind."""
        if isinstance(target, ast.Subscript) and steps_of_index(target.slice) is None:
            target = target.value
        return self._refer(target, writes=True)

    def part_of(self, held: References, index: int | None) -> References:
        return held if index is None else selected(held, (index,))

    def item_of(self, iterable: ast.expr) -> References:
        """Return what a loop takes out of what it goes through; nobody writes what it took in the round before.

        Of what has a name only the items are read, if at all.
        """
        item = f"item {iterable.lineno, iterable.col_offset}"
        self._forget(lambda memory: item in memory)
        held = self.value(iterable) if self.place(iterable) is None else self._refer(iterable)
        if isinstance(iterable, ast.Call) and last_name(iterable.func) == "range":
            return NOTHING
        items = selected(held, (item,))
        return frozenset(each._replace(written=None) if _is_of(item, each) else each for each in items)

    def _forget(self, is_gone: Callable[[Memory], bool]) -> None:
        """Drop references to memory that nobody writes any more."""
        for place, held in self.names.items():
            if any(is_gone(each.memory) and not each.written for each in held):
                self.names[place] = frozenset(each for each in held if each.written or not is_gone(each.memory))

    def enter_branch(self, statement: ast.stmt) -> None:
        """Forget what is asked for its type: it is an array on one way and a tensor on the other."""
        for call in walk(statement.test) if isinstance(statement, ast.If) else ():
            if isinstance(call, ast.Call) and call.args:
                name, place = last_name(call.func) or "", self.place(call.args[0])
                asks = name in _ASKING_FOR_TYPE or name.lstrip("_").startswith("is_")  # `is_numpy_array(x)`
                if asks and place is not None and place not in self.containers:
                    self.names[place] = NOTHING

    def is_under_way(self) -> bool:
        return self._has_converted

    def leave(self, returned: References) -> None:
        """Take what an object keeps at the end for read."""
        kept = (held for place, held in self.names.items() if len(place) > 1)
        self.hands_on |= any(each.conversion is not None for held in (returned, *kept) for each in held)
        for place, held in self.names.items():
            if place[0] == "self" and len(place) > 1:
                self._note(held, 0, "".join(place))

    # Reads and writes.

    def _note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """Take references for read; of several writes, the first in the file counts."""
        written = [(each.written, each) for each in references if each.written is not None]
        for write, reference in sorted(written, key=lambda each: (each[0].row, _order(each[1]), _order(each[0]))):
            is_made_last = reference.side == "array" or (reference.side == "tensor" and write.side is None)
            conversion = reference.conversion if is_made_last else write.conversion
            is_reached = not are_apart(self.path, write.path) and not are_apart(self.path, reference.path)
            if conversion is not None and (is_made_last or kept_in is None) and is_reached:
                reads_array = reference.side == "array" or (reference.side is None and write.side == "tensor")
                to = self._found.of_tensors if reads_array else self._found.of_arrays
                comes_round = self._comes_round(write.row, conversion)
                to.setdefault(conversion, Overwritten(write.row, row, kept_in, comes_round))

    def _comes_round(self, row: int, conversion: ast.Call) -> bool:
        """True if a loop of the function brings it from a conversion back to a write that stands before it."""
        first, last = getattr(self.scopes[-1], "lineno", 1), getattr(self.scopes[-1], "end_lineno", conversion.lineno)
        return first <= row < conversion.lineno <= last

    def _write(self, references: References, row: int, *, fills: bool = False) -> None:
        """Take everything else that refers to the same memory for written.

        Who writes an array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor; and the other way
        round. A function that `fills` the tensor that it makes of an array means the array.
        """
        conversions = {each.conversion for held in self.names.values() for each in held}
        for each in sorted(references, key=_order):
            others = [other for other in references if (other.conversion is None) != (each.conversion is None)]
            if any(overlap(each.memory, other.memory) for other in others):
                continue  # the tensor on one path, and a part of the array on another
            is_seen = each.conversion is None or each.conversion in conversions - self._meant
            is_seen = is_seen and not (fills and each.side == "tensor" and each.conversion in self._inner)
            if is_seen and not are_apart(self.path, each.path):
                self._mark(Write(row, self.path, each.memory, each.conversion, each.side))

    def _mark(self, write: Write) -> None:
        self.hands_on |= write.conversion is not None
        root, *steps = map(str, write.memory)
        if write.conversion is not None and not root.startswith(NEW):
            # The tensor may not have been bound to a name of its own since.
            place = (root, *(step for step in steps if is_member(step)))
            self.hold(place, self.of(place))
        for name, references in self.names.items():
            self.names[name] = frozenset(after(write, other) for other in references)

    def _write_tensors(self, is_written: Callable[[Memory], bool], row: int) -> None:
        """Write the tensors of which a name holds the memory, or an array that shares it."""
        memories = {each.memory for held in self.names.values() for each in held}
        self._write(frozenset(Reference(memory) for memory in memories if is_written(memory)), row)

    # Expressions.

    def read(self, node: ast.Name | ast.Attribute | ast.Subscript) -> References:
        references = self._refer(node)
        self._note(references, node.lineno)
        return references

    def display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> References:
        return self._parts(node)

    def operation(self, node: ast.expr) -> References:
        """Look at the operands; what is made of them is new."""
        self._parts(node)
        return NOTHING

    def _parts(self, node: ast.expr) -> References:
        return NOTHING.union(
            *[self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        )

    def _refer(self, node: ast.expr, *, writes: bool = False) -> References:
        """Return what an expression refers to; what is read on the way is noted, but not yet the expression itself.

        `writes`: to be written, so nothing is read, and only names and views refer to anything.
        """
        if isinstance(node, ast.Attribute) and node.attr in _PLAIN:
            return NOTHING
        place = self.place(node)
        if place is not None:
            return self.of(place)
        if isinstance(node, ast.Attribute):
            base = self._refer(node.value, writes=writes)
            step = f"{node.attr}()" if node.attr in OF_SAME_MEMORY else f".{node.attr}"
            return base if node.attr == "data" else selected(base, (step,))
        if isinstance(node, ast.Subscript):
            return self._item(node, writes=writes)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _VIEWS_AND_COPIES:
                return self._view(node, node.func, writes=writes)
            if _is_cast_in_place(node):
                return self._refer(node.func.value, writes=writes)
            if writes and writes_itself(node.func.attr):  # `x.mul_(2).add_(1)`
                return self.value(node)
        return NOTHING if writes else self.value(node)

    def _item(self, node: ast.Subscript, *, writes: bool) -> References:
        base, steps = self._refer(node.value, writes=writes), steps_of_index(node.slice)
        if not writes:
            self.value(node.slice)
        if steps is None:
            if not writes:
                self._note(base, node.lineno)
            return NOTHING
        if self.place(node.value) in self.containers:
            return self._taken_out(base, steps)
        is_key = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        arrays = frozenset(each for each in base if each.conversion is not None) if is_key else NOTHING
        return arrays | selected(base - arrays, steps)  # `kept[0]["x"]`: an array out of a dict, no part of one

    def _view(self, node: ast.Call, function: ast.Attribute, *, writes: bool) -> References:
        viewed, arguments = function.value, node.args
        if place_of(viewed) in _LIBRARIES and arguments:  # `torch.squeeze(x)`
            viewed, *arguments = arguments
        base = self._refer(viewed, writes=writes)
        for argument in () if writes else (*arguments, *(keyword.value for keyword in node.keywords)):
            self.value(argument)
        if function.attr == "flatten":  # NumPy's copies; torch's does only where it has to
            base = frozenset(each for each in base if each.side != "array")
        view = f"{function.attr}({', '.join(map(ast.unparse, arguments))})"
        return base if function.attr in _THE_SAME else selected(base, (view,))

    # Calls.

    def call(self, call: ast.Call) -> References:
        """Return what a call gives, once it has had its effect."""
        side = self._conversions.get(call)
        if side is not None:
            return self._convert(call, side)
        callee = self.callee_of(call)
        if callee is not None:
            returned = self.follow(call, callee)
            self._note(returned, call.lineno)
            return returned
        if isinstance(call.func, ast.Attribute):
            return self._method(call, call.func)
        name = call.func.id if isinstance(call.func, ast.Name) else None
        if name == "len":
            return NOTHING
        given = self._arguments(call)
        self._affect(call, given)
        return NOTHING.union(*given) if name in _PASSING or name in _PASSING_OF_LIBRARIES else NOTHING

    def _convert(self, call: ast.Call, side: Side) -> References:
        source, self._has_converted = converted_by(call), True
        references = self.value(source)
        for argument in arguments_of(call):
            if argument is not source:
                self.value(argument)
        if self.frames:
            (self._inner if self.frames[-1].callee.gives_value else self._meant).add(call)
        if side == "tensor":
            self._arrays.update(each.memory[:1] for each in references if each.side is None)
        made = (each.converted(call, side, self.path) for each in references if shares(call, each))
        return frozenset(each for each in made if each is not None)

    def _arguments(self, call: ast.Call) -> list[References]:
        given = [self.value(argument) for argument in arguments_of(call)]
        self._handed.update(each.memory[0] for references in given for each in references)
        return given

    def _method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, self.place(function.value)
        if name in _PLAIN:
            return NOTHING
        if place is not None and (name in _KEEPING or (name in _KEEPING_OF_CONTAINERS and place in self.containers)):
            kept = NOTHING.union(*self._arguments(call))
            if kept:
                self.hold(place, (self.of(place) if place in self.names else NOTHING) | kept)
            return NOTHING
        if name == "load_state_dict":
            modules = [each.memory for each in self._refer(function.value, writes=True)]
            self._arguments(call)
            self._write_tensors(lambda memory: any(memory[: len(each)] == each for each in modules), call.lineno)
            return NOTHING
        if name in _OF_MODULES:
            model = self._refer(function.value)
            self._handed.update(each.memory[0] for each in model)
            return selected(model, (PARAMETERS,))
        if name in ("items", "values") and not call.args and isinstance(function.value, ast.Call):
            return self.value(function.value)  # of a state_dict
        if writes_itself(name) and not written_arguments(call):
            references = self._refer(function.value, writes=True)
            self._arguments(call)
            self._write(references, call.lineno, fills=name in _FILLING)
            return references
        if name in METHODS_OF_ARRAYS and place is not None and place not in self.containers:
            self._arguments(call)
            arrays = (each for each in self.of(place) if each.side == "array" or self._was_array(each))
            self._write(frozenset(arrays), call.lineno)
            return NOTHING
        if name in _VIEWS_AND_COPIES or _is_cast_in_place(call):
            references = self._refer(call)
            self._note(references, call.lineno)
            return references
        return self._other_method(call, function, place)

    def _was_array(self, reference: Reference) -> bool:
        return reference.side is None and reference.memory[:1] in self._arrays

    def _other_method(self, call: ast.Call, function: ast.Attribute, place: Place | None) -> References:
        base = self.value(function.value)
        given = self._arguments(call)
        self._affect(call, given)
        if function.attr in _PASSING_OF_LIBRARIES and place in _LIBRARIES:
            passed: References = NOTHING.union(*given)
            is_of_torch = function.attr in ("from_numpy", "as_tensor")
            return frozenset(Reference(each.memory) for each in passed) if is_of_torch else passed
        return base if function.attr == "to" and chain_of(call).links[-1].role is Role.CPU else NOTHING

    def _affect(self, call: ast.Call, given: list[References]) -> None:
        """Do what a function is known by its name to do."""
        for number in written_arguments(call):
            if self.place(arguments_of(call)[number]) not in self.containers:
                self._write(given[number], call.lineno)
        if last_name(call.func) in ("zero_grad", "backward"):  # drops them, or makes new ones
            self._forget(lambda memory: GRAD in memory)
        if steps_optimizer(call):
            known = self._known_to_optimizer()
            self._write_tensors(
                lambda memory: self._is_trained(memory) and (known is None or memory[0] in known), call.lineno
            )

    def _known_to_optimizer(self) -> set[str | int] | None:
        """Return the memory that an optimizer of the function may have: what that is given, and anything, if it is
        given the optimizer itself."""
        if not self.frames or has_optimizer(self.frames[-1].call):
            return None
        return {each.memory[0] for _, held in self.frames[-1].given.values() for each in held}

    def _is_trained(self, memory: Memory) -> bool:
        is_own = str(memory[0]).startswith(NEW) and memory[0] not in self._handed
        return is_parameter(memory) and not is_own


def _is_of(item: str, reference: Reference) -> bool:
    """True if it is the item of another round of the loop that was written."""
    return reference.written is not None and item in reference.written.memory


def _is_cast_in_place(call: ast.Call) -> bool:
    """True for `array.astype(np.float32, copy=False)`: the array itself where it is of that dtype."""
    is_asked = any(each.arg == "copy" and is_false(each.value) for each in call.keywords)
    return is_asked and isinstance(call.func, ast.Attribute) and call.func.attr == "astype"


def _order(each: Reference | Write) -> tuple[object, ...]:
    """Return what sorts references in the same way in every run, as a set does not."""
    call = each.conversion
    return (0, 0) if call is None else (call.end_lineno, call.end_col_offset), str(each.memory)
