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
    """Bottom: the result of a call that is still being evaluated or, `is_content`, the item of a list or dict that
    stays empty as far as the code shows."""

    is_content: bool = False


NOTHING = Nothing()
EMPTY = Nothing(is_content=True)


class DeviceTaint(IntEnum):
    """The device that a tensor was sent to on some path; the join is the greater one."""

    NONE = 0
    GIVEN = 1  # to a device that an object or caller gives, maybe the CPU
    CHOSEN = 2  # to an accelerator, or to a device that the code chooses at run time


class Tensor(NamedTuple):
    """A torch tensor. `likely`: only the methods used on it show so, and torch is the module's only array framework.
    `possible`: only methods show so that another framework of the module has too.
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
    is_given: bool = False  # computed from data and annotated parameters and attributes alone, and never moved
    evidence: AllEvidence = PROVED  # what its facts rest on
    param_taint: bool = False  # computed from parameters on at least one path, while grad mode may have been on
    is_replaced: bool = False  # on one path, by a tensor without grad; its former facts count for nothing then
    dimensions: Literal[0] | None = None  # 0 if it surely has none
    ufuncs: frozenset[ast.Call] = frozenset()  # boolean ufuncs of NumPy that it is the result of (see ufuncs.py)


class Unknown(NamedTuple):
    """A value of unknown kind: the reason, and the facts about the tensors in it.
    `is_no_tensor`: a test has shown that it is no tensor itself, though it may hold some. `device_taint`, `param_taint`
    and `is_replaced` are those of the tensors in it.
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
    """A value that is no torch tensor and holds none: an array, a number, a string, a shape.
    `dimensions`: of a value proved to be a NumPy array, 1 if it surely has dimensions, else 0.
    """

    what: str
    dimensions: int | None = None


class Constant(NamedTuple):
    """A literal: a string, a number, True, False or None."""

    value: Any


class OtherFramework(NamedTuple):
    """A value of another framework (or of a class that mimics one); all results of operations on it are too."""

    root: str


class Device(NamedTuple):
    """A torch.device, or what `.device` gives."""

    is_cpu: Fact
    type: str | None = None
    device_taint: DeviceTaint = DeviceTaint.NONE  # of tensors sent there


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

    The facts are those of an nn.Module's parameters: on the CPU if the code builds it and does not move it.
    `dtype` is the one that the whole module was cast to. `real` is the original object where `super()` views it as an
    instance of a base; methods run on `real`. `is_moved`: its own method `to` or `cuda` was called on it, and it is no
    module; or other code moved a part of it.
    """

    cls: Class
    arguments: Arguments | None = None
    on_cpu: Fact = None
    requires_grad: Fact = None
    dtype: str | None = None
    real: Instance | None = None
    evidence: AllEvidence = PROVED
    is_moved: bool = False
    device_taint: DeviceTaint = DeviceTaint.NONE  # of a module, on at least one path


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
    """A name used as annotation, `Batch = dict[str, Tensor]`, with the value that it promises."""

    promised: Value


class Union(NamedTuple):
    """One of several values of classes that do not join."""

    members: tuple[Value, ...]


class Arguments(NamedTuple):
    """The arguments of a call as far as they are known; `has_star` where a * or ** hides some.

    `starred` is the join of the items behind a *; `hides_names`: a ** may hide keyword arguments.
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
        """All arguments; None if a * or ** hides some."""
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
    """True if it is surely a Python number, as a sum starts with."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    return isinstance(value, NonTensor) and value.what in _NUMBERS


def is_text(value: Value) -> bool:
    """True if it is surely a string, which cannot index an array or tensor."""
    if isinstance(value, Constant):
        return isinstance(value.value, str)
    return isinstance(value, NonTensor) and value.what == "str"


SOME_CLASS = Unknown(Reason.CLASS, is_no_tensor=True)  # calling it may return anything


def same(first: Value | None, second: Value | None) -> bool:
    """Equality of value and class: named tuples of different classes may compare equal."""
    return first is second or (type(first) is type(second) and first == second)
