"""What `isinstance(x, C)` and its like show of a value."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from tonumpy.engine.values.value_facts import members, with_facts_of
from tonumpy.engine.values.values import (
    Class,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
    is_number,
)
from tonumpy.inference.transfer.annotations import value_of_class

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame


def classes_asked_for(frame: Frame, node: ast.expr) -> list[Value]:
    if isinstance(node, ast.Tuple):
        return [value for part in node.elts for value in classes_asked_for(frame, part)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return classes_asked_for(frame, node.left) + classes_asked_for(frame, node.right)
    value = frame.evaluator.expression(frame, node)
    found = value.items if isinstance(value, Sequence) and value.items is not None else members(value)
    return [Symbol("torch.Tensor") if each in _VARIABLES else each for each in found]


# What tensors were called before torch 0.4; every tensor is an instance of it.
_VARIABLES = (Symbol("torch.autograd.Variable"), Symbol("torch.autograd.variable.Variable"))


def as_instance(frame: Frame, value: Value, cls: Value) -> Value:
    if isinstance(value, Tensor) and isinstance(cls, Class) and frame.analysis.kinds.extends_tensor(cls):
        return value
    found = Tensor() if isinstance(cls, Class) and frame.analysis.kinds.makes_tensors(cls) else value_of_class(cls)
    if isinstance(value, Unknown):
        if isinstance(found, Unknown):
            return value
        return with_facts_of(found, value)
    if isinstance(value, LibraryObject) and isinstance(found, LibraryObject):
        return with_facts_of(found, value)
    return value if isinstance(found, Unknown) else found


def is_instance(frame: Frame, value: Value, cls: Value) -> Fact:
    name = cls.name if isinstance(cls, Symbol) else ""
    is_tensor_class = name.startswith("torch.") and name.endswith("Tensor")
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Nothing):
        return False
    if isinstance(value, Tensor):
        if is_tensor_class:
            return True if name == "torch.Tensor" else None
        if isinstance(cls, Class) and _extends_nothing_else(frame, cls):
            return False
        return None if name.startswith("torch.") or isinstance(cls, (Class, Unknown)) else False
    if isinstance(value, NonTensor):
        if is_tensor_class or isinstance(cls, (Class, OtherFramework)):
            return False
        if value.what.startswith("numpy"):
            return False if name.startswith("builtins.") else name.startswith("numpy.") or None
        return False if is_number(value) and name in _WITHOUT_NUMBERS else None
    if isinstance(value, Constant):
        return _is_literal_of(value.value, name)
    if isinstance(value, Sequence):
        return (
            name.rpartition(".")[2] in ("list", "tuple", "set", "Sequence", "Iterable", "Collection") or None
            if not is_tensor_class
            else False
        )
    if isinstance(value, Mapping):
        return name.rpartition(".")[2] in ("dict", "Mapping", "MutableMapping", "OrderedDict") or (
            False if is_tensor_class or "list" in name or "tuple" in name else None
        )
    if isinstance(value, OtherFramework):
        return bool(isinstance(cls, OtherFramework))
    if isinstance(value, Instance):
        if isinstance(cls, Class):
            return True if frame.analysis.classes.is_subclass(value.cls, cls) else None
        if name.startswith(("builtins.", "numpy.", "torch.")) and _extends_nothing_else(frame, value.cls):
            return name == "builtins.object"
        return False if is_tensor_class and not frame.analysis.kinds.extends_tensor(value.cls) else None
    if isinstance(value, LibraryObject):
        return True if value.name == name else None if not is_tensor_class else False
    return None


# What no number of Python is.
_WITHOUT_NUMBERS = frozenset(f"builtins.{name}" for name in ("str", "bytes", "list", "tuple", "dict", "set"))


def _is_literal_of(value: object, name: str) -> Fact:
    """Whether a literal is of the class of this name, "" for one of the repository or of nobody known."""
    if name.startswith("builtins."):
        asked = getattr(builtins, name.removeprefix("builtins."), None)
        return isinstance(value, asked) if isinstance(asked, type) else None
    is_abstract = name.startswith(("numbers.", "collections.", "typing."))
    return None if is_abstract and value is not None else False


def _extends_nothing_else(frame: Frame, cls: Class) -> bool:
    """Whether all that a class extends is in sight."""
    return set(frame.analysis.classes.library_bases(cls)) <= {"builtins.object", "abc.ABC", "typing.Generic"}
