"""Evaluates attributes, subscripts and iteration."""

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
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.joins import join, join_all, under_a_key
from tonumpy.engine.values.reasons import GIVEN, Reason

_PLAIN_ATTRIBUTES = frozenset("shape ndim dtype layout __name__ __class__ __dict__".split())
_OF_TYPES = frozenset("typing typing_extensions collections.abc jaxtyping".split())
_GENERIC = frozenset("list tuple set frozenset dict type".split())
_COUNTS = ("num_", "n_", "is_", "has_")


def attribute_of(frame: Frame, value: v.Value, name: str) -> v.Value:
    """The value of `value.name` that is not called."""
    reader = _ATTRIBUTES.get(type(value))
    if reader is not None:
        return reader(frame, value, name)
    if value == v.NONE and torch_api.tensor_attribute(name) is not None:
        return v.NOTHING
    return value if isinstance(value, v.Nothing) else v.Unknown(Reason.of_attribute(name))


def _attribute_of_union(frame: Frame, value: v.Union, name: str) -> v.Value:
    members = [each for each in value.members if not isinstance(each, v.Constant)]
    if torch_api.tensor_attribute(name) is not None:
        kept = [each for each in members if not isinstance(each, (v.Sequence, v.Mapping)) or _has(each, name)]
        members = kept or members
    found = [attribute_of(frame, each, name) for each in members]
    return join_all(found) if found else v.Unknown(Reason.of_attribute(name))


def _attribute_of_tensor(frame: Frame, value: v.Tensor, name: str) -> v.Value:
    if name == "grad":
        grad = None if frame.module.words.makes_graphs_of_gradients else False
        evidence = without(value.evidence, "grad")
        made = v.Tensor(value.on_cpu, grad, value.dtype, value.certainty, evidence=evidence)
        return join(made._replace(device_taint=value.device_taint), v.NONE)
    known = attribute_of_tensor(value, name)
    if known is not None:
        return known
    if value.certainty == "tensor":
        return frame.named(v.Unknown(Reason.ATTRIBUTE, evidence=value.evidence), name)
    held = v.Unknown(Reason.ATTRIBUTE, value.on_cpu, value.requires_grad, evidence=value.evidence)
    if not name.startswith(_COUNTS):
        held = held._replace(device_taint=value.device_taint, param_taint=value.param_taint)
    return frame.named(held, name)


def _attribute_of_sequence(_: Frame, value: v.Sequence, name: str) -> v.Value:
    if value.items is not None and name in value.fields:
        return value.items[value.fields.index(name)]
    return v.Unknown(Reason.of_attribute(name))


def _attribute_of_plain(_: Frame, value: v.NonTensor, name: str) -> v.Value:
    if name == "device" and "." in value.what and not value.what.startswith("numpy."):
        return v.Device(None, device_taint=v.DeviceTaint.GIVEN)  # `args.device`
    part = part_named(value.what, name) if "." in value.what else None
    dimensions = value.dimensions if name in ("T", "real", "imag") else None
    return v.NonTensor(part) if part is not None else v.NonTensor("attribute", dimensions)


def _has(value: v.Value, name: str) -> bool:
    return isinstance(value, v.Sequence) and name in value.fields


def _attribute_of_unknown(frame: Frame, value: v.Unknown, name: str) -> v.Value:
    if name in _PLAIN_ATTRIBUTES:
        return v.NonTensor(name)
    if name == "device" and (value.on_cpu is not None or value.device_taint):
        return v.Device(value.on_cpu, device_taint=value.device_taint)
    if name in ("data", "grad") and frame.module.frameworks.speaks_of_torch:
        evidence = without(value.evidence, "grad")
        return v.Unknown(Reason.ATTRIBUTE, value.on_cpu, False, evidence=evidence, device_taint=value.device_taint)
    known = library.known_by_term(frame, value, f".{name}")
    if known is not None:
        return known
    if value.reason is Reason.SAVED:
        value = value._replace(requires_grad=None)
    elif value.reason is Reason.DATASET:
        value = value._replace(on_cpu=True)
    held = value._replace(reason=Reason.of_attribute(name, value.reason), is_no_tensor=False)
    if name.startswith(_COUNTS):
        held = held._replace(device_taint=v.DeviceTaint.NONE, param_taint=False)
    return frame.named(held, name)


def makes_annotation(generic: v.Symbol) -> bool:
    """True if subscripting the symbol makes an annotation: `Union[...]`, `dict[...]`."""
    module, _, name = generic.name.rpartition(".")
    return module in _OF_TYPES or (module == "builtins" and name in _GENERIC)


def subscript_of(frame: Frame, value: v.Value, index: v.Value, *, is_slice: bool) -> v.Value:
    """The value of `value[index]`."""
    reader = _SUBSCRIPTS.get(type(value))
    return v.Unknown(Reason.ITEM) if reader is None else reader(frame, value, index, is_slice)


def _subscript_of_union(frame: Frame, value: v.Union, index: v.Value, is_slice: bool) -> v.Value:
    parts = [each for each in value.members if not isinstance(each, v.Constant)]
    kept = [each for each in parts if not _lacks(each, index)] or parts
    return join_all(subscript_of(frame, each, index, is_slice=is_slice) for each in kept)


def _subscript_of_sequence(_: Frame, value: v.Sequence, index: v.Value, is_slice: bool) -> v.Value:
    if is_slice:
        return v.Sequence(None, value.element)
    items = value.items or ()
    place = index.value if isinstance(index, v.Constant) and type(index.value) is int else None
    return items[place] if place is not None and -len(items) <= place < len(items) else value.element


def _subscript_of_unknown(frame: Frame, value: v.Unknown, index: v.Value, _: bool) -> v.Value:
    key = _text_in(index)
    if value.reason is Reason.DATASET and key is not None:
        value = v.Unknown(Reason.DATASET_PART, True, False, evidence=value.evidence)
    item = _item_of_unknown(value)
    return item if key is None else library.known_by_term(frame, value, f"[{key}]") or frame.named(item, key)


def _subscript_of_instance(frame: Frame, value: v.Instance, index: v.Value, _: bool) -> v.Value:
    getter = frame.analysis.classes.method(value.cls, "__getitem__")
    if getter is None:
        return v.Unknown(Reason.ITEM)
    given = frame.analysis.enter(frame, getter, value, v.Arguments((index,)))
    given = frame.as_data(given) if frame.analysis.classes.is_dataset(value.cls) else given
    key = _text_in(index)
    return given if key is None else frame.named(given, key)


def _subscript_of_plain(_: Frame, value: v.NonTensor, index: v.Value, is_slice: bool) -> v.Value:
    if value.dimensions is not None:
        return value._replace(dimensions=arrays.of_item(index, is_slice=is_slice))
    return v.NonTensor("int") if value.what == "Size" and not is_slice else value


def _subscript_of_symbol(_: Frame, value: v.Symbol, *__: object) -> v.Value:
    return v.NonTensor(value.name) if gives_plain_values(value.name) else v.Unknown(Reason.ITEM)


def _text_in(index: v.Value) -> str | None:
    return index.value if isinstance(index, v.Constant) and isinstance(index.value, str) else None


def _lacks(value: v.Value, key: v.Value) -> bool:
    return isinstance(value, v.Mapping) and isinstance(key, v.Constant) and isinstance(value.get(key.value), v.Nothing)


def _under_key(frame: Frame, value: v.Mapping, index: v.Value, _: bool) -> v.Value:
    if not isinstance(index, v.Constant):
        return join_all(value.values())
    found = value.get(index.value)
    if any(key == index.value for key, _ in value.entries):
        return found
    if isinstance(found, v.Nothing):
        found = v.Unknown(Reason.CONTENT)
    if isinstance(found, v.Tensor) and (dtype := integers_of_layers().get(str(index.value).rpartition(".")[2])):
        found = found._replace(requires_grad=False, dtype=dtype)
    return frame.named(under_a_key(found), str(index.value))


def _part_of_tensor(frame: Frame, value: v.Tensor, index: v.Value, is_slice: bool) -> v.Value:
    if value.is_number and isinstance(index, v.Constant) and frame.module.words.speaks_of_variables:
        return v.NonTensor("number")
    is_item = isinstance(index, v.NonTensor) and not is_slice
    return item_of_tensor(frame, value)._replace(
        is_item=is_item,
        is_number=value.is_number or _is_position(index),
        layout=None if is_slice or isinstance(index, v.Sequence) else value.layout,
        dimensions=value.dimensions if is_slice else None,
    )


def _is_position(index: v.Value) -> bool:
    if isinstance(index, v.Sequence):
        return index.items is not None and all(map(_is_position, index.items))
    is_number = isinstance(index, v.Constant) and type(index.value) is int
    return is_number or (isinstance(index, v.NonTensor) and index.what == "int")


def item_of_tensor(frame: Frame, tensor: v.Tensor) -> v.Tensor:
    """An item of the tensor: a view, which keeps its grad under no_grad too, or a copy, which does not."""
    grad = tensor.requires_grad if frame.mode or tensor.requires_grad is False else None
    taint = tensor.param_taint or bool(tensor.requires_grad)
    return tensor._replace(requires_grad=grad, layout=None, param_taint=taint, dimensions=None)


def item_of(frame: Frame, value: v.Value) -> v.Value:
    """The value that iterating over a value yields."""
    reader = _ITEMS.get(type(value))
    return v.Unknown(Reason.ITEM) if reader is None else reader(frame, value)


def _item_of_unknown(value: v.Unknown) -> v.Unknown:
    if value.reason is Reason.DATASET:
        return v.Unknown(Reason.ITEM, True, False, evidence=value.evidence)
    if value.reason is Reason.SAVED:
        return value._replace(requires_grad=False)
    if value.reason in GIVEN:
        return value._replace(reason=Reason.ITEM_OF_GIVEN, is_no_tensor=False)
    is_sent = value.reason is Reason.SENT
    return value._replace(reason=Reason.SENT if is_sent else Reason.ITEM, is_no_tensor=False)


def _item_of_instance(frame: Frame, value: v.Instance) -> v.Value:
    classes = frame.analysis.classes
    for name in ("__next__", "__iter__", "__getitem__"):
        method = classes.method(value.cls, name)
        if method is not None:
            arguments = v.Arguments((v.NonTensor("int"),) if name == "__getitem__" else ())
            found = frame.analysis.enter(frame, method, value, arguments)
            found = item_of(frame, found) if name == "__iter__" and found != value else found
            return frame.as_data(found) if classes.is_dataset(value.cls) else found
    fields = classes.fields(value)
    if fields is not None:
        return join_all(fields.values())
    promise = member_promise(classes.library_bases(value.cls), "__iter__", v.Arguments(()))
    return v.Unknown(Reason.ITEM) if promise is None else keep(frame, promise, value, v.Arguments(()))


_ATTRIBUTES: dict[type, Callable[[Frame, Any, str], v.Value]] = {
    v.Union: _attribute_of_union,
    v.Tensor: _attribute_of_tensor,
    v.Symbol: lambda _, value, name: symbol(f"{value.name}.{name}"),
    v.ModuleValue: lambda frame, value, name: frame.analysis.names.member(value.module, name),
    v.Instance: lambda frame, value, name: frame.analysis.classes.attribute(frame, value, name),
    v.Class: lambda frame, value, name: frame.analysis.classes.class_attribute(value, name),
    v.OtherFramework: lambda _, value, __: value,
    v.Sequence: _attribute_of_sequence,
    v.LibraryObject: lambda frame, value, name: library.attribute(frame, value, name),
    v.Device: lambda _, value, name: v.Constant(value.type) if name == "type" and value.type else v.NonTensor("str"),
    v.Unknown: _attribute_of_unknown,
    v.NonTensor: _attribute_of_plain,
}
_SUBSCRIPTS: dict[type, Callable[[Frame, Any, v.Value, bool], v.Value]] = {
    v.Union: _subscript_of_union,
    v.Sequence: _subscript_of_sequence,
    v.Mapping: _under_key,
    v.Tensor: _part_of_tensor,
    v.Unknown: _subscript_of_unknown,
    v.Instance: _subscript_of_instance,
    v.LibraryObject: lambda frame, value, index, is_slice: library.item(frame, value, None if is_slice else index),
    v.NonTensor: _subscript_of_plain,
    v.Symbol: lambda _, value, *__: (
        v.NonTensor(value.name) if gives_plain_values(value.name) else v.Unknown(Reason.ITEM)
    ),
    v.OtherFramework: lambda _, value, *__: value,
    v.Nothing: lambda _, value, *__: value,
}
_ITEMS: dict[type, Callable[[Frame, Any], v.Value]] = {
    v.Union: lambda frame, value: join_all(
        item_of(frame, each) for each in value.members if not isinstance(each, v.Constant)
    ),
    v.Sequence: lambda _, value: value.element,
    v.Mapping: lambda *_: v.NonTensor("key"),
    v.Tensor: lambda frame, value: item_of_tensor(frame, value)._replace(is_item=True),
    v.Unknown: lambda _, value: _item_of_unknown(value),
    v.Instance: _item_of_instance,
    v.LibraryObject: library.item,
    v.NonTensor: lambda _, value: value._replace(dimensions=None),
    v.Constant: lambda *_: v.NonTensor("str"),
    v.OtherFramework: lambda _, value: value,
    v.Nothing: lambda _, value: value,
}
