"""The values of the lattice: frozen descriptions of what may be known of an expression, and queries on them."""

from __future__ import annotations

import ast
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from tonumpy.engine.names.module import Module
from tonumpy.engine.values.evidence import PROVED, AllEvidence
from tonumpy.engine.values.reasons import Reason
from tonumpy.facts import Certainty, Fact


class Nothing(NamedTuple):
    """No value at all: the result of a call that is still being worked out, or, `is_content`, the item of a list or
    dict in which nobody in sight has put anything."""

    is_content: bool = False


NOTHING = Nothing()
EMPTY = Nothing(is_content=True)


class DeviceTaint(IntEnum):
    """The device that a tensor was sent to on some path; the join is the greater one."""

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
    evidence: AllEvidence = PROVED  # what its facts rest on
    param_taint: bool = False  # made of parameters on one path at least, while grad mode may have been on
    is_replaced: bool = False  # on one path, by what requires no grad; what it was before speaks for nothing then
    dimensions: Literal[0] | None = None  # 0 if it surely has none
    ufuncs: frozenset[ast.Call] = frozenset()  # boolean ufuncs of NumPy that it is the result of (see ufuncs.py)


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

    `dimensions`: where it is surely an array of NumPy, 1 if it surely has some, else 0.
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
    closure: Any = None  # interpreter.frame.Frame of the enclosing function; compared by identity


class Class(NamedTuple):
    """A class of the repository: where it is defined and the frame whose variables its body and its methods see."""

    node: ast.ClassDef
    module: Module
    closure: Any = None  # as a function's; None for a class outside functions


class Instance(NamedTuple):
    """An object of a class of the repository, with the arguments it was built from where they are known.

    The facts are those of an nn.Module's parameters: on the CPU where it was built in sight and not moved since.
    `dtype` is what it was cast to as a whole.
    `real` is the object itself where `super()` looks at it as one of a base: its methods work on that.
    `is_moved`: it is no module, and a method of its own called `to` or `cuda` has been called on it; or a part of it
    has been moved by others.
    """

    cls: Class
    arguments: Arguments | None = None
    on_cpu: Fact = None
    requires_grad: Fact = None
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


class BoundMethod(NamedTuple):
    """A method of the repository bound to its object."""

    function: Function
    receiver: Value


class ModuleValue(NamedTuple):
    """A module of the repository, as `import package.module` binds it."""

    module: Module


class Annotation(NamedTuple):
    """A name that is written in annotations, `Batch = dict[str, Tensor]`: what it promises."""

    promised: Value


class Union(NamedTuple):
    """One of several descriptions that have no join of their own."""

    members: tuple[Value, ...]


class Arguments(NamedTuple):
    """The arguments of a call as far as they are known; `has_star` where a * or ** hides some.

    `starred` is the join of those that a * hides; `hides_names`: a ** may hide some that are given by name.
    """

    positional: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...] = ()
    has_star: bool = False
    starred: Value = NOTHING
    hides_names: bool = False

    def named_value(self, name: str) -> Value | None:
        return next((value for key, value in self.named if key == name), None)

    def get(self, position: int, name: str) -> Value | None:
        """The argument that is given by position or by name."""
        return self.positional[position] if position < len(self.positional) else self.named_value(name)

    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(value for _, value in self.named))

    def all_values(self) -> tuple[Value, ...] | None:
        """Return all of them; None where a * or ** hides some."""
        return None if self.has_star else self.values()


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


SOME_CLASS = Unknown(Reason.CLASS, is_no_tensor=True)  # what it makes, when it is called, may be anything


def same(first: Value | None, second: Value | None) -> bool:
    """Equality that tells Constant(1) from Plain(1): named tuples of different classes may compare equal."""
    return first is second or (type(first) is type(second) and first == second)
