"""From a value to its attributes, its items and what iterating over it yields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tonumpy.engine.interpreter import library
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.promises import keep
from tonumpy.engine.interpreter.torch_calls import attribute_of_tensor
from tonumpy.engine.knowledge import arrays, torch_api
from tonumpy.engine.knowledge.libraries.rows import gives_plain_values, integers_of_layers, member_promise
from tonumpy.engine.knowledge.library_objects import part_named
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.joins import join, join_all, under_a_key
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    Class,
    Constant,
    Device,
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    ModuleValue,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)

_PLAIN_ATTRIBUTES = frozenset("shape ndim dtype layout __name__ __class__ __dict__".split())
_OF_TYPES = frozenset("typing typing_extensions collections.abc jaxtyping".split())
_GENERIC = frozenset("list tuple set frozenset dict type".split())
_COUNTS = ("num_", "n_", "is_", "has_")


def attribute_of(frame: Frame, value: Value, name: str) -> Value:
    """Return what `value.name` is where it is not called."""
    reader = _ATTRIBUTES.get(type(value))
    if reader is not None:
        return reader(frame, value, name)
    if value == NONE and torch_api.tensor_attribute(name) is not None:
        return NOTHING
    return value if isinstance(value, Nothing) else Unknown(Reason.of_attribute(name))


def _attribute_of_union(frame: Frame, value: Union, name: str) -> Value:
    members = [each for each in value.members if not isinstance(each, Constant)]
    if torch_api.tensor_attribute(name) is not None:
        kept = [each for each in members if not isinstance(each, (Sequence, Mapping)) or _has(each, name)]
        members = kept or members
    found = [attribute_of(frame, each, name) for each in members]
    return join_all(found) if found else Unknown(Reason.of_attribute(name))


def _attribute_of_tensor(frame: Frame, value: Tensor, name: str) -> Value:
    if name == "grad":
        grad = None if frame.module.words.makes_graphs_of_gradients else False
        evidence = without(value.evidence, "grad")
        made = Tensor(value.on_cpu, grad, value.dtype, value.certainty, evidence=evidence)
        return join(made._replace(device_taint=value.device_taint), NONE)
    known = attribute_of_tensor(value, name)
    if known is not None:
        return known
    if value.certainty == "tensor":
        return frame.named(Unknown(Reason.ATTRIBUTE, evidence=value.evidence), name)
    held = Unknown(Reason.ATTRIBUTE, value.on_cpu, value.requires_grad, evidence=value.evidence)
    if not name.startswith(_COUNTS):
        held = held._replace(device_taint=value.device_taint, param_taint=value.param_taint)
    return frame.named(held, name)


def _attribute_of_sequence(_: Frame, value: Sequence, name: str) -> Value:
    if value.items is not None and name in value.fields:
        return value.items[value.fields.index(name)]
    return Unknown(Reason.of_attribute(name))


def _attribute_of_plain(_: Frame, value: NonTensor, name: str) -> Value:
    if name == "device" and "." in value.what and not value.what.startswith("numpy."):
        return Device(None, device_taint=DeviceTaint.GIVEN)  # `args.device`
    part = part_named(value.what, name) if "." in value.what else None
    dimensions = value.dimensions if name in ("T", "real", "imag") else None
    return NonTensor(part) if part is not None else NonTensor("attribute", dimensions)


def _has(value: Value, name: str) -> bool:
    return isinstance(value, Sequence) and name in value.fields


def _attribute_of_unknown(frame: Frame, value: Unknown, name: str) -> Value:
    if name in _PLAIN_ATTRIBUTES:
        return NonTensor(name)
    if name == "device" and (value.on_cpu is not None or value.device_taint):
        return Device(value.on_cpu, device_taint=value.device_taint)
    if name in ("data", "grad") and frame.module.frameworks.speaks_of_torch:
        evidence = without(value.evidence, "grad")
        return Unknown(Reason.ATTRIBUTE, value.on_cpu, False, evidence=evidence, device_taint=value.device_taint)
    known = library.known_by_term(frame, value, f".{name}")
    if known is not None:
        return known
    if value.reason is Reason.SAVED:
        value = value._replace(requires_grad=None)
    elif value.reason is Reason.DATASET:
        value = value._replace(on_cpu=True)
    held = value._replace(reason=Reason.of_attribute(name, value.reason), is_no_tensor=False)
    if name.startswith(_COUNTS):
        held = held._replace(device_taint=DeviceTaint.NONE, param_taint=False)
    return frame.named(held, name)


def makes_annotation(generic: Symbol) -> bool:
    """True if what stands in brackets behind it makes an annotation: `Union[...]`, `dict[...]`."""
    module, _, name = generic.name.rpartition(".")
    return module in _OF_TYPES or (module == "builtins" and name in _GENERIC)


def subscript_of(frame: Frame, value: Value, index: Value, *, is_slice: bool) -> Value:
    """Return what `value[index]` is."""
    reader = _SUBSCRIPTS.get(type(value))
    return Unknown(Reason.ITEM) if reader is None else reader(frame, value, index, is_slice)


def _subscript_of_union(frame: Frame, value: Union, index: Value, is_slice: bool) -> Value:
    parts = [each for each in value.members if not isinstance(each, Constant)]
    kept = [each for each in parts if not _lacks(each, index)] or parts
    return join_all(subscript_of(frame, each, index, is_slice=is_slice) for each in kept)


def _subscript_of_sequence(_: Frame, value: Sequence, index: Value, is_slice: bool) -> Value:
    if is_slice:
        return Sequence(None, value.element)
    items = value.items or ()
    place = index.value if isinstance(index, Constant) and type(index.value) is int else None
    return items[place] if place is not None and -len(items) <= place < len(items) else value.element


def _subscript_of_unknown(frame: Frame, value: Unknown, index: Value, _: bool) -> Value:
    key = _text_in(index)
    if value.reason is Reason.DATASET and key is not None:
        value = Unknown(Reason.DATASET_PART, True, False, evidence=value.evidence)
    item = _item_of_unknown(value)
    return item if key is None else library.known_by_term(frame, value, f"[{key}]") or frame.named(item, key)


def _subscript_of_instance(frame: Frame, value: Instance, index: Value, _: bool) -> Value:
    getter = frame.analysis.classes.method(value.cls, "__getitem__")
    if getter is None:
        return Unknown(Reason.ITEM)
    given = frame.analysis.enter(frame, getter, value, Arguments((index,)))
    given = frame.as_data(given) if frame.analysis.classes.is_dataset(value.cls) else given
    key = _text_in(index)
    return given if key is None else frame.named(given, key)


def _subscript_of_plain(_: Frame, value: NonTensor, index: Value, is_slice: bool) -> Value:
    if value.dimensions is not None:
        return value._replace(dimensions=arrays.of_item(index, is_slice=is_slice))
    return NonTensor("int") if value.what == "Size" and not is_slice else value


def _text_in(index: Value) -> str | None:
    return index.value if isinstance(index, Constant) and isinstance(index.value, str) else None


def _lacks(value: Value, key: Value) -> bool:
    return isinstance(value, Mapping) and isinstance(key, Constant) and isinstance(value.get(key.value), Nothing)


def _under_key(frame: Frame, value: Mapping, index: Value, _: bool) -> Value:
    if not isinstance(index, Constant):
        return join_all(value.values())
    found = value.get(index.value)
    if any(key == index.value for key, _ in value.entries):
        return found
    if isinstance(found, Nothing):
        found = Unknown(Reason.CONTENT)
    if isinstance(found, Tensor) and (dtype := integers_of_layers().get(str(index.value).rpartition(".")[2])):
        found = found._replace(requires_grad=False, dtype=dtype)
    return frame.named(under_a_key(found), str(index.value))


def _part_of_tensor(frame: Frame, value: Tensor, index: Value, is_slice: bool) -> Value:
    if value.is_number and isinstance(index, Constant) and frame.module.words.speaks_of_variables:
        return NonTensor("number")
    is_item = isinstance(index, NonTensor) and not is_slice
    return item_of_tensor(frame, value)._replace(
        is_item=is_item,
        is_number=value.is_number or _is_position(index),
        layout=None if is_slice or isinstance(index, Sequence) else value.layout,
        dimensions=value.dimensions if is_slice else None,
    )


def _is_position(index: Value) -> bool:
    if isinstance(index, Sequence):
        return index.items is not None and all(map(_is_position, index.items))
    is_number = isinstance(index, Constant) and type(index.value) is int
    return is_number or (isinstance(index, NonTensor) and index.what == "int")


def item_of_tensor(frame: Frame, tensor: Tensor) -> Tensor:
    """A view of the tensor, which keeps its grad under no_grad too, or a copy, which does not."""
    grad = tensor.requires_grad if frame.mode or tensor.requires_grad is False else None
    taint = tensor.param_taint or bool(tensor.requires_grad)
    return tensor._replace(requires_grad=grad, layout=None, param_taint=taint, dimensions=None)


def item_of(frame: Frame, value: Value) -> Value:
    """Return what iterating over a value yields."""
    reader = _ITEMS.get(type(value))
    return Unknown(Reason.ITEM) if reader is None else reader(frame, value)


def _item_of_unknown(value: Unknown) -> Unknown:
    if value.reason is Reason.DATASET:
        return Unknown(Reason.ITEM, True, False, evidence=value.evidence)
    if value.reason is Reason.SAVED:
        return value._replace(requires_grad=False)
    if value.reason in GIVEN:
        return value._replace(reason=Reason.ITEM_OF_GIVEN, is_no_tensor=False)
    is_sent = value.reason is Reason.SENT
    return value._replace(reason=Reason.SENT if is_sent else Reason.ITEM, is_no_tensor=False)


def _item_of_instance(frame: Frame, value: Instance) -> Value:
    classes = frame.analysis.classes
    for name in ("__next__", "__iter__", "__getitem__"):
        method = classes.method(value.cls, name)
        if method is not None:
            arguments = Arguments((NonTensor("int"),) if name == "__getitem__" else ())
            found = frame.analysis.enter(frame, method, value, arguments)
            found = item_of(frame, found) if name == "__iter__" and found != value else found
            return frame.as_data(found) if classes.is_dataset(value.cls) else found
    fields = classes.fields(value)
    if fields is not None:
        return join_all(fields.values())
    promise = member_promise(classes.library_bases(value.cls), "__iter__", Arguments(()))
    return Unknown(Reason.ITEM) if promise is None else keep(frame, promise, value, Arguments(()))


_ATTRIBUTES: dict[type, Callable[[Frame, Any, str], Value]] = {
    Union: _attribute_of_union,
    Tensor: _attribute_of_tensor,
    Symbol: lambda _, value, name: symbol(f"{value.name}.{name}"),
    ModuleValue: lambda frame, value, name: frame.analysis.names.member(value.module, name),
    Instance: lambda frame, value, name: frame.analysis.classes.attribute(frame, value, name),
    Class: lambda frame, value, name: frame.analysis.classes.class_attribute(value, name),
    OtherFramework: lambda _, value, __: value,
    Sequence: _attribute_of_sequence,
    LibraryObject: lambda frame, value, name: library.attribute(frame, value, name),
    Device: lambda _, value, name: Constant(value.type) if name == "type" and value.type else NonTensor("str"),
    Unknown: _attribute_of_unknown,
    NonTensor: _attribute_of_plain,
}
_SUBSCRIPTS: dict[type, Callable[[Frame, Any, Value, bool], Value]] = {
    Union: _subscript_of_union,
    Sequence: _subscript_of_sequence,
    Mapping: _under_key,
    Tensor: _part_of_tensor,
    Unknown: _subscript_of_unknown,
    Instance: _subscript_of_instance,
    LibraryObject: lambda frame, value, index, is_slice: library.item(frame, value, None if is_slice else index),
    NonTensor: _subscript_of_plain,
    Symbol: lambda _, value, *__: NonTensor(value.name) if gives_plain_values(value.name) else Unknown(Reason.ITEM),
    OtherFramework: lambda _, value, *__: value,
    Nothing: lambda _, value, *__: value,
}
_ITEMS: dict[type, Callable[[Frame, Any], Value]] = {
    Union: lambda frame, value: join_all(
        item_of(frame, each) for each in value.members if not isinstance(each, Constant)
    ),
    Sequence: lambda _, value: value.element,
    Mapping: lambda *_: NonTensor("key"),
    Tensor: lambda frame, value: item_of_tensor(frame, value)._replace(is_item=True),
    Unknown: lambda _, value: _item_of_unknown(value),
    Instance: _item_of_instance,
    LibraryObject: library.item,
    NonTensor: lambda _, value: value._replace(dimensions=None),
    Constant: lambda *_: NonTensor("str"),
    OtherFramework: lambda _, value: value,
    Nothing: lambda _, value: value,
}
