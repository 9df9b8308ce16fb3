"""The values of the lattice: frozen descriptions of what may be known of an expression, and queries on them."""

from __future__ import annotations

import ast
from enum import IntEnum

from tonumpy.inference.lattice.dtypes import choice_of, choices, is_choice, is_dtype_name
from tonumpy.inference.lattice.evidence import PROVED, AllEvidence, joined, without
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Sequence as Items
    from typing import Any, Literal, TypeVar

    from tonumpy.facts import Certainty, Fact
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.evidence import Aspect, Basis

    _Fresh = TypeVar("_Fresh", "Tensor", "Unknown", "Tensor | Unknown")


class Nothing(NamedTuple):
    """No value at all: the item of an empty list, the result of a call that is still being worked out."""


NOTHING = Nothing()


class DeviceTaint(IntEnum):
    """Whether a tensor was sent to a device on some path; the join is the greater one."""

    NONE = 0
    GIVEN = 1  # to the device that some object or caller says, be it the CPU
    CHOSEN = 2  # to an accelerator, or to what the code in sight chooses at run time


class Tensor(NamedTuple):
    """A torch tensor. `likely`: only its own words say so, in a module where torch is the only array framework.

    `possible`: only words say so that another framework of the module has too.
    """

    on_cpu: Fact = None
    requires_grad: Fact = None
    dtype: str | None = None  # "int64", ... or "integral" where only that is known
    certainty: Certainty = "tensor"
    is_number: bool = False  # may have no dimensions: the one kind of CPU tensor that mixes with an accelerator's
    layout: str | None = None  # "Sparse", "SparseCsr", "Mkldnn", ... as torch's messages name them; never "Strided"
    bit: Literal["conjugate", "negative"] | None = None  # the one that is set, unless it comes from an accelerator
    is_item: bool = False  # of another tensor, by iteration or by an index
    device_taint: DeviceTaint = DeviceTaint.NONE
    is_given: bool = False  # made of nothing but data and annotated parameters and attributes, and sent nowhere since
    origins: frozenset[str] = frozenset()  # the names under which tensors were first held that this may be, or view
    evidence: AllEvidence = PROVED  # what its facts rest on
    param_taint: bool = False  # made of parameters on one path at least, while grad mode may have been on
    is_replaced: bool = False  # on one path, by what requires no grad; what it was before speaks for nothing then
    dimensions: int | None = None  # how many it surely has


class Unknown(NamedTuple):
    """Nothing is known of the kind; what is known of the device and grad of tensors in it, and why it is unknown.

    `is_no_tensor`: a test has shown that it is no tensor itself, though it may hold some. `device_taint` and
    `param_taint` and `is_replaced` are those of the tensors in it.
    """

    reason: Reason
    on_cpu: Fact = None
    requires_grad: Fact = None
    is_no_tensor: bool = False
    evidence: AllEvidence = PROVED
    device_taint: DeviceTaint = DeviceTaint.NONE
    param_taint: bool = False
    is_replaced: bool = False


class NonTensor(NamedTuple):
    """Surely not a torch tensor, nor does anything torch come out of it: an array, a number, a string, a shape.

    `dimensions`: how many it has at least, where it is surely an array of NumPy.
    """

    what: str
    dimensions: int | None = None


class Constant(NamedTuple):
    """A literal: a string, a number, True, False or None."""

    value: Any


class OtherFramework(NamedTuple):
    """A value of another framework (or of a class that mimics one): whatever is done with it stays foreign."""

    root: str


class Device(NamedTuple):
    """A torch.device, or what `.device` gives."""

    is_cpu: Fact
    type: str | None = None
    device_taint: DeviceTaint = DeviceTaint.NONE  # what is sent there


class Symbol(NamedTuple):
    """A name of a library that is not read: `torch.nn.functional`, `numpy.asarray`."""

    name: str


class Sequence(NamedTuple):
    """A list, tuple, set or iterator: its items where their number is known, and the join of all of them.

    `fields` names the items of a named tuple: `x.max(0).values`.
    """

    items: tuple[Value, ...] | None
    element: Value
    fields: tuple[str, ...] = ()


class Mapping(NamedTuple):
    """A dict: the values under literal keys, and the join of the values under all other keys."""

    entries: tuple[tuple[Any, Value], ...]
    other: Value = NOTHING

    def get(self, key: object) -> Value:
        return next((value for name, value in self.entries if name == key), self.other)

    def values(self) -> tuple[Value, ...]:
        return (*[value for _, value in self.entries], self.other)


class Function(NamedTuple):
    """A function or lambda that can be entered: where it is defined and the frame whose variables it sees."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    owner: Class | None  # the class whose method it is
    closure: Any = None  # transfer.frame.Frame of the enclosing function; compared by identity
    is_bare: bool = False  # as its decorators are given it
    grad_mode: str = "unchanged"  # what it runs in, as `torch.no_grad()(function)` does (see grad_modes.py)


class Class(NamedTuple):
    """A class of the repository: where it is defined and the frame whose variables its body and its methods see."""

    node: ast.ClassDef
    module: Module
    closure: Any = None  # as a function's; None for a class outside functions


class Instance(NamedTuple):
    """An object of a class of the repository, with the arguments it was built from where they are known.

    The facts are those of an nn.Module's parameters: on the CPU where it was built in sight and not moved since.
    `dtype` is what it was cast to as a whole.
    `written` are the attributes that somebody else than its class has assigned: the class does not tell of these.
    `real` is the object itself where `super()` looks at it as one of a base: its methods work on that.
    `is_moved`: it is no module, and a method of its own called `to` or `cuda` has been called on it; or a part of it
    has been moved by others.
    """

    cls: Class
    arguments: Arguments | None = None
    on_cpu: Fact = None
    requires_grad: Fact = None
    written: frozenset[str] = frozenset()
    dtype: str | None = None
    real: Instance | None = None
    evidence: AllEvidence = PROVED
    is_moved: bool = False
    device_taint: DeviceTaint = DeviceTaint.NONE  # a module, on one path at least


class LibraryObject(NamedTuple):
    """An object of a library class: `torch.nn.Linear(...)`. The facts are those of the tensors it holds."""

    name: str
    on_cpu: Fact = None
    requires_grad: Fact = None
    arguments: Arguments | None = None
    dtype: str | None = None
    evidence: AllEvidence = PROVED
    device_taint: DeviceTaint = DeviceTaint.NONE


class Method(NamedTuple):
    """`receiver.name` before it is called, where the receiver is not an object of the repository."""

    receiver: Value
    name: str


class BoundMethod(NamedTuple):
    """A method of the repository bound to its object."""

    function: Function
    receiver: Value


class ModuleValue(NamedTuple):
    """A module of the repository, as `import package.module` binds it."""

    module: Module


class Annotation(NamedTuple):
    """What a name stands for that is written in annotations, `Batch = dict[str, Tensor]`: what it promises."""

    promised: Value


class Union(NamedTuple):
    """One of several descriptions that have no join of their own."""

    members: tuple[Value, ...]


class Arguments(NamedTuple):
    """The arguments of a call as far as they are known; `has_star` where a * or ** hides some.

    `starred` is the join of those that a * hides; `hides_names`: a ** may hide some that are given by name, and
    `under_names` is what is known of the tensors among these, NOTHING where their device is not.
    """

    positional: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...] = ()
    has_star: bool = False
    starred: Value = NOTHING
    hides_names: bool = False
    under_names: Value = NOTHING

    def named_value(self, name: str) -> Value | None:
        return next((value for key, value in self.named if key == name), None)

    def get(self, position: int, name: str) -> Value | None:
        """The argument that is given by position or by name."""
        return self.positional[position] if position < len(self.positional) else self.named_value(name)

    def mapped(self, change: Callable[[Value], Value]) -> Arguments:
        """With each of them changed, and what a * hides."""
        return self._replace(
            positional=tuple(map(change, self.positional)),
            named=tuple((name, change(value)) for name, value in self.named),
            starred=change(self.starred),
        )

    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(value for _, value in self.named))

    def all_values(self) -> tuple[Value, ...] | None:
        """With what a ** hides, where something is known of it; None where not, or where a * hides some."""
        if not self.has_star:
            return self.values()
        is_known = isinstance(self.starred, Nothing) and not isinstance(self.under_names, Nothing)
        return (*self.values(), self.under_names) if is_known else None


NO_ARGUMENTS = Arguments(())

Value = (
    Nothing
    | Tensor
    | Unknown
    | NonTensor
    | Constant
    | OtherFramework
    | Device
    | Symbol
    | Sequence
    | Mapping
    | Function
    | Class
    | Instance
    | LibraryObject
    | Method
    | BoundMethod
    | ModuleValue
    | Annotation
    | Union
)

NONE = Constant(None)
_NUMBERS = frozenset("int float len number".split())


def is_number(value: Value) -> bool:
    """Surely a Python number: what a sum starts with."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    return isinstance(value, NonTensor) and value.what in _NUMBERS


def is_text(value: Value) -> bool:
    """Surely a string: no index of an array or tensor."""
    if isinstance(value, Constant):
        return isinstance(value.value, str)
    return isinstance(value, NonTensor) and value.what == "str"


# A module of whatever class that somebody has moved, so that it has parameters: nobody knows whether they are frozen.

SOME_CLASS = Unknown(Reason.CLASS, is_no_tensor=True)  # what it makes, when it is called, may be anything

_CERTAINTIES: tuple[Certainty, ...] = ("tensor", "likely", "possible")


def weaker(first: Certainty, second: Certainty) -> Certainty:
    return max(first, second, key=_CERTAINTIES.index)


def stronger(first: Certainty, second: Certainty) -> Certainty:
    return min(first, second, key=_CERTAINTIES.index)


def join_fact(first: Fact, second: Fact) -> Fact:
    return first if first is second else None


def join_facts(pairs: Items[tuple[Fact, Fact]]) -> tuple[Fact, Fact]:
    """`on_cpu` and `requires_grad` where all of one or more pairs agree on them."""
    cpu, grad = pairs[0]
    for other_cpu, other_grad in pairs[1:]:
        cpu, grad = join_fact(cpu, other_cpu), join_fact(grad, other_grad)
    return cpu, grad


def same(first: Value | None, second: Value | None) -> bool:
    """Equality that tells Constant(1) from Plain(1): named tuples of different classes may compare equal."""
    return first is second or (type(first) is type(second) and first == second)


def definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    module: Module,
    owner: Class | None,
    closure: object,
) -> Value:
    if isinstance(node, ast.ClassDef):
        return Class(node, module, closure)
    return Function(node, module, owner, closure)


def max_device_taint(values: Iterable[Value]) -> DeviceTaint:
    """The greatest device taint of the tensors among some values."""
    return max(
        (value.device_taint for value in values if isinstance(value, (Tensor, Unknown))), default=DeviceTaint.NONE
    )


def have_param_taint(values: Iterable[Value]) -> bool:
    """True if a tensor among the values requires grad, or is computed from parameters on some path."""
    return any(map(_has_param_taint, tensors_in(values)))


def may_raise(values: Iterable[Value]) -> bool:
    """True if a tensor in the values requires grad or is on an accelerator, by code in sight."""
    return any(each.on_cpu is False or each.device_taint or _has_param_taint(each) for each in tensors_in(values))


def tensors_in(values: Iterable[Value]) -> Iterator[Tensor | Unknown]:
    """What is a tensor, or unknown, of some values and of what they hold."""
    return (each for each in held_in(*values) if isinstance(each, (Tensor, Unknown)))


def _has_param_taint(value: Tensor | Unknown) -> bool:
    return bool(value.requires_grad or (value.param_taint and value.requires_grad is None))


def members(value: Value) -> tuple[Value, ...]:
    """The members of a union; of any other value, itself."""
    return value.members if isinstance(value, Union) else (value,)


def may_be(value: Value, kinds: type | tuple[type, ...]) -> bool:
    """True if the value, or a member of it, is of one of these kinds."""
    return any(isinstance(member, kinds) for member in members(value))


def truth_of(value: Value) -> Fact:
    """What a literal True or False says; None of anything else."""
    return value.value if isinstance(value, Constant) and isinstance(value.value, bool) else None


def dtype_of(value: Value | None) -> str | None:
    """The name of a dtype argument: `torch.long` gives "long", and of several a choice; None where it is not known."""
    if isinstance(value, Symbol):
        name = value.name.rpartition(".")[2]
        return name if is_dtype_name(name) else None
    if isinstance(value, Union):
        parts = [dtype_of(each) for each in value.members]
        return choice_of(parts) if all(map(_is_of_dtype, value.members, parts)) else None
    return None


def _is_of_dtype(value: Value, known: str | None) -> bool:
    return known is not None or value == NONE or isinstance(value, Unknown) or value == NonTensor("dtype")


def of_dtype(dtype: str | None) -> Value:
    """What `x.dtype` is: the reverse."""
    if is_choice(dtype):
        return Union(tuple(map(of_dtype, choices(dtype))))
    return Symbol(f"torch.{dtype}") if dtype is not None and is_dtype_name(dtype) else NonTensor("dtype")


def tensor_facts(value: Value) -> tuple[Fact, Fact]:
    """`on_cpu` and `requires_grad` of the tensors in a value; values without tensors hold both promises."""
    if isinstance(value, (Tensor, Unknown, LibraryObject)):
        return value.on_cpu, value.requires_grad
    if isinstance(value, Sequence):
        return tensor_facts(value.element)
    if isinstance(value, Mapping):
        return joined_facts(value.values())
    if isinstance(value, Union):
        return joined_facts(value.members)
    if isinstance(value, (Instance, Class, Function, BoundMethod, Method, ModuleValue)):
        return None, None
    return True, False


def evidence_in(value: Value) -> AllEvidence:
    """What the facts rest on that `tensor_facts` tells."""
    if isinstance(value, (Tensor, Unknown, LibraryObject, Instance)):
        return value.evidence
    if isinstance(value, Sequence):
        return evidence_in(value.element)
    return joined(map(evidence_in, parts_of(value))) if isinstance(value, (Mapping, Union)) else PROVED


def resting_on(value: Value, evidence: AllEvidence) -> Value:
    """The value, with this added to what the facts about the tensors in it rest on."""
    if not evidence:
        return value
    if isinstance(value, (Tensor, Unknown, LibraryObject, Instance)):
        return value if evidence <= value.evidence else value._replace(evidence=value.evidence | evidence)
    return mapped(value, lambda part: resting_on(part, evidence))


def left_open(value: Value, evidence: AllEvidence) -> Value:
    """A value that has not been followed to its end: what is not known of it rests on that."""
    if isinstance(value, (Tensor, Unknown)):
        known = {"device": value.on_cpu, "grad": value.requires_grad}
        return resting_on(value, frozenset(each for each in evidence if known.get(each.about) is None))
    return mapped(value, lambda part: left_open(part, evidence))


def believed(value: _Fresh, basis: Basis | None, *, on_cpu: Fact = None, requires_grad: Fact = None) -> _Fresh:
    """What a habit makes of a value: facts that were unknown so far, and rest on it. The value where there is none."""
    if basis is None:
        return value
    aspects: list[Aspect] = []
    cpu, grad = value.on_cpu, value.requires_grad
    if cpu is None and on_cpu is not None:
        cpu = on_cpu
        aspects.append("device")
    if grad is None and requires_grad is not None:
        grad = requires_grad
        aspects.append("grad")
    return (
        value._replace(on_cpu=cpu, requires_grad=grad, evidence=value.evidence | basis.about(*aspects))
        if aspects
        else value
    )


def joined_facts(values: Iterable[Value]) -> tuple[Fact, Fact]:
    others = (Nothing, NonTensor, Constant, OtherFramework, Device, Symbol)
    return join_facts([(True, False), *(tensor_facts(value) for value in values if not isinstance(value, others))])


def with_facts(value: Value, on_cpu: Fact = None, requires_grad: Fact = None) -> Value:
    """The value with facts that have been proved of the tensors in it; what is None stays as it was."""
    if isinstance(value, (Tensor, Unknown, LibraryObject)):
        evidence = value.evidence if on_cpu is None else without(value.evidence, "device")
        return value._replace(
            on_cpu=value.on_cpu if on_cpu is None else on_cpu,
            requires_grad=value.requires_grad if requires_grad is None else requires_grad,
            evidence=evidence if requires_grad is None else without(evidence, "grad"),
        )
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(with_facts(item, on_cpu, requires_grad) for item in value.items)
        return Sequence(items, with_facts(value.element, on_cpu, requires_grad))
    if isinstance(value, Mapping):
        entries = tuple((key, with_facts(entry, on_cpu, requires_grad)) for key, entry in value.entries)
        return Mapping(entries, with_facts(value.other, on_cpu, requires_grad))
    if isinstance(value, Union):
        return Union(tuple(with_facts(member, on_cpu, requires_grad) for member in value.members))
    return value


def with_facts_of(value: Value, known: Tensor | Unknown | LibraryObject | Instance) -> Value:
    """The value, if the tensors in it are those of another of which only that is known, and what that rests on."""
    value = with_facts(value, *tensor_facts(known))
    if isinstance(known, (Tensor, Unknown)):
        value = with_evidence(value, known.device_taint, known.param_taint)
    return resting_on(value, known.evidence)


def with_evidence(value: Value, device_taint: DeviceTaint, param_taint: bool) -> Value:
    """The value, with device and parameter taint added to the tensors in it."""
    if not device_taint and not param_taint:
        return value
    if isinstance(value, (Tensor, Unknown)):
        return value._replace(
            device_taint=max(value.device_taint, device_taint), param_taint=value.param_taint or param_taint
        )
    return mapped(value, lambda part: with_evidence(part, device_taint, param_taint))


def unsent(value: Value) -> Value:
    """The value, if nothing has sent the tensors in it anywhere."""
    if isinstance(value, (Tensor, Unknown)):
        return value._replace(device_taint=DeviceTaint.NONE)
    return mapped(value, unsent)


def held_in(*values: Value) -> Iterator[Value]:
    """The values, and what is held by them: the parts of containers, and what objects of libraries were made of."""
    waiting = list(values)
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, LibraryObject):
            waiting.extend(() if each.arguments is None else each.arguments.values())
        elif isinstance(each, (Sequence, Mapping, Union)):
            waiting.extend(parts_of(each))


def parts_of(value: Sequence | Mapping | Union) -> tuple[Value, ...]:
    """The values that a container or union holds."""
    if isinstance(value, Sequence):
        return (value.element, *(value.items or ()))
    return value.values() if isinstance(value, Mapping) else value.members


def mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """A container or union with each part changed; itself where all parts stay the same."""
    if not isinstance(value, (Sequence, Mapping, Union)):
        return value
    parts = parts_of(value)
    done: dict[int, Value] = {}  # what is held twice is one thing before, and is one thing after
    for part in parts:
        if id(part) not in done:
            done[id(part)] = change(part)
    ids = list(map(id, parts))
    changed = tuple(map(done.__getitem__, ids))
    if list(map(id, changed)) == ids:
        return value
    if isinstance(value, Sequence):
        return Sequence(None if value.items is None else changed[1:], changed[0], value.fields)
    if isinstance(value, Mapping):
        entries = tuple((key, new) for (key, _), new in zip(value.entries, changed, strict=False))
        return Mapping(entries, changed[-1])
    return Union(changed)
