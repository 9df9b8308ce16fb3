"""From a value to its attributes, its items and what iteration yields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import arrays, torch_api
from tonumpy.engine.knowledge.libraries.rows import integers_of_layers
from tonumpy.engine.knowledge.library_objects import part_named
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.joins import join, join_all, under_a_key
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.value_facts import tensor_facts
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
    Method,
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
    same,
)
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits, item_of_dataset
from tonumpy.inference.transfer.name_heuristics import counts_or_names, is_device
from tonumpy.inference.transfer.torch_operators import TORCH_WORDS, attribute_of_tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame

    _Layer = TypeVar("_Layer", Unknown, LibraryObject)


def attribute_of(frame: Frame, value: Value, name: str) -> Value:
    """What `value.name` is."""
    if isinstance(value, Union):
        found = [attribute_of(frame, member, name) for member in _members_with_attribute(value, name)]
        return join_all(found) if found else Unknown(Reason.of_attribute(name))
    if isinstance(value, Tensor):
        if name == "grad":
            evidence = without(value.evidence, "grad")
            facts = (value.on_cpu, _grad_of_gradients(frame), value.dtype, value.certainty)
            return join(Tensor(*facts, device_taint=value.device_taint, evidence=evidence), NONE)
        known = attribute_of_tensor(value, name)
        return Method(value, name) if known is None else known
    if isinstance(value, Symbol):
        return symbol(f"{value.name}.{name}")
    if isinstance(value, ModuleValue):
        return frame.analysis.names.member_of_module(value.module, name)
    if isinstance(value, Instance):
        return frame.analysis.attributes.attribute(value, name)
    if isinstance(value, Class):
        if name == "apply" and frame.analysis.kinds.is_operator(value):
            return Method(value, name)
        return frame.analysis.attributes.class_attribute(value, name)
    if isinstance(value, OtherFramework):
        return value
    if isinstance(value, Sequence) and value.items is not None and name in value.fields:
        return value.items[value.fields.index(name)]
    if isinstance(value, LibraryObject):
        return library_values.attribute(frame, value, name)
    if isinstance(value, Device) and name == "type":
        return Constant(value.type) if value.type else NonTensor("str")
    if name == "grad" and isinstance(value, (NonTensor, Unknown)):
        # A plain value may be what is taken out of an array of objects.
        on_cpu, device_taint = (
            (value.on_cpu, value.device_taint) if isinstance(value, Unknown) else (None, DeviceTaint.NONE)
        )
        return Unknown(Reason.ATTRIBUTE, on_cpu, _grad_of_gradients(frame), device_taint=device_taint)
    if isinstance(value, Unknown):
        # The same attributes of anything: `.shape` is no tensor whatever it belongs to.
        if name in ("shape", "ndim", "dtype", "layout", "__name__", "__class__", "__dict__"):
            return NonTensor(name)
        if name == "device" and value.on_cpu is not None:
            return Device(value.on_cpu)
        if name == "data" and frame.module.frameworks.speaks_of_torch:
            evidence = without(value.evidence, "grad")  # of a tensor, as it is wherever a chain has it
            return Unknown(Reason.ATTRIBUTE, value.on_cpu, False, evidence=evidence, device_taint=value.device_taint)
        return library_values.known_by_term(frame.module, value, f".{name}") or Method(value, name)
    is_refused = value == NONE and torch_api.tensor_attribute(name) is not None  # nobody reads it: that raises
    return NOTHING if is_refused or isinstance(value, Nothing) else Method(value, name)


def _members_with_attribute(value: Union, attribute: str) -> list[Value]:
    """The members of a union that have the attribute: None has none, and a list or dict has not what tensors have."""
    given: list[Value] = [member for member in value.members if not isinstance(member, Constant)]
    if torch_api.tensor_attribute(attribute) is None:
        return given
    return [each for each in given if not isinstance(each, (Sequence, Mapping)) or _has_field(each, attribute)] or given


def _has_field(value: Sequence | Mapping, name: str) -> bool:
    return isinstance(value, Sequence) and name in value.fields


def _grad_of_gradients(frame: Frame) -> Fact:
    """Gradients have no graph of their own, unless one is asked for."""
    return None if frame.module.words.makes_graphs_of_gradients else False


def resolve(frame: Frame, value: Value) -> Value:
    """The value of an attribute that is read and not called: a `Method` becomes what is known of its owner's
    tensors."""
    if isinstance(value, Union):
        is_settled = not any(isinstance(member, Method) for member in value.members)
        return value if is_settled else join_all(resolve(frame, member) for member in value.members)
    if isinstance(value, Method):
        if isinstance(value.receiver, Unknown):
            owner = value.receiver
            if owner.reason is Reason.SAVED:
                # A module may have been saved, whose parameters are as ever; what has a `T` is a tensor.
                is_tensor = torch_api.tensor_attribute(value.name) is not None
                owner = owner._replace(requires_grad=False if is_tensor else None)
            elif owner.reason is Reason.DATASET:
                owner = owner._replace(on_cpu=True)
            held = owner._replace(reason=Reason.of_attribute(value.name, owner.reason), is_no_tensor=False)
            if counts_or_names(value.name):
                held = held._replace(device_taint=DeviceTaint.NONE, param_taint=False)
            return apply_name_habits(held, value.name, frame)
        if isinstance(value.receiver, Tensor) and not _tensors_have(value.name):
            # Somebody has put it there; or it is no tensor after all, and its parts are where it has been sent.
            evidence = value.receiver.evidence
            if value.receiver.certainty == "tensor":
                return apply_name_habits(Unknown(Reason.ATTRIBUTE, evidence=evidence), value.name, frame)
            owner = Unknown(Reason.ATTRIBUTE, *tensor_facts(value.receiver), evidence=evidence)
            if not counts_or_names(value.name):
                owner = owner._replace(device_taint=value.receiver.device_taint, param_taint=value.receiver.param_taint)
            return apply_name_habits(owner, value.name, frame)
        if isinstance(value.receiver, LibraryObject):
            facts = tensor_facts(value.receiver)
            # What a module on the CPU is given may be elsewhere, and so may the dataset of a loader of torch.
            on_cpu = True if facts == (True, False) and not value.receiver.name.startswith("torch.") else None
            return apply_name_habits(
                Unknown(Reason.ATTRIBUTE, on_cpu, facts[1], evidence=value.receiver.evidence), value.name, frame
            )
        if isinstance(value.receiver, NonTensor) and not same(value.receiver, EXCEPTION):
            dimensions = value.receiver.dimensions
            if is_device(value.name) and _holds_settings(value.receiver):
                return Device(None, device_taint=DeviceTaint.GIVEN)  # `args.device`
            part = part_named(value.receiver.what, value.name) if "." in value.receiver.what else None
            if part is not None:
                return NonTensor(part)
            return NonTensor("attribute", None if dimensions is None else arrays.of_attribute(dimensions, value.name))
        if isinstance(value.receiver, (Instance, NonTensor)):
            return apply_name_habits(Unknown(Reason.of_attribute(value.name)), value.name, frame)
    return value


def _holds_settings(value: Value) -> bool:
    """Whether a function of a plain library gives it, as a parser of arguments does; an array has a device, too."""
    return isinstance(value, NonTensor) and "." in value.what and not value.what.startswith("numpy.")


def _tensors_have(name: str) -> bool:
    return torch_api.is_of_tensors(name) or name in TORCH_WORDS or name.startswith("__")


_SHAPE = NonTensor("Size")  # of a tensor
EXCEPTION = NonTensor("exception")  # which may bring a tensor, as `StopIteration` does in `value`


def subscript_of(frame: Frame, value: Value, index: Value, is_slice: bool) -> Value:
    """What `value[index]` is."""
    part_of = _PARTS.get(type(value))
    return Unknown(Reason.ITEM) if part_of is None else part_of(frame, value, index, is_slice)


def _part_of_union(frame: Frame, value: Union, index: Value, is_slice: bool) -> Value:
    parts = [member for member in value.members if not isinstance(member, Constant)]
    parts = [member for member in parts if not _lacks(member, index)] or parts
    return join_all(subscript_of(frame, member, index, is_slice) for member in parts)


def _part_of_sequence(_: Frame, value: Sequence, index: Value, is_slice: bool) -> Value:
    if is_slice:
        return Sequence(None, value.element)
    items = value.items or ()
    if isinstance(index, Constant) and type(index.value) is int and -len(items) <= index.value < len(items):
        return items[index.value]
    return value.element


def _part_of_mapping(frame: Frame, value: Mapping, index: Value, _: bool) -> Value:
    if not isinstance(index, Constant):
        return join_all(value.values())
    found = value.get(index.value)
    if isinstance(found, Nothing):
        found = Unknown(Reason.CONTENT)
    if isinstance(found, Tensor) and (dtype := integers_of_layers().get(str(index.value).rpartition(".")[2])):
        found = found._replace(requires_grad=False, dtype=dtype)
    is_stored = any(key == index.value for key, _ in value.entries)
    return found if is_stored else apply_name_habits(under_a_key(found), str(index.value), frame)


def _part_of_tensor(frame: Frame, value: Tensor, index: Value, is_slice: bool) -> Value:
    # Before torch 0.4 a loss had one dimension, and what stood there was a number of Python's: `loss.data[0]`.
    if value.is_number and isinstance(index, Constant) and frame.module.words.speaks_of_variables:
        return NonTensor("number")
    is_number = value.is_number or _is_position(index)
    is_item = isinstance(index, NonTensor) and not is_slice
    layout = None if is_slice or isinstance(index, Sequence) else value.layout  # of a sparse matrix: a sparse row
    return _item_of_tensor(frame, value)._replace(
        is_item=is_item, is_number=is_number, layout=layout, dimensions=_dimensions_left(value, index, is_slice)
    )


def _part_of_unknown(frame: Frame, value: Unknown, index: Value, _: bool) -> Value:
    if value.reason is Reason.DATASET and isinstance(index, Constant) and isinstance(index.value, str):
        value = Unknown(Reason.DATASET_PART, True, False, evidence=value.evidence)  # another dataset, or anything
    return under_key(frame, value, _item_of_unknown(value), index)


def _part_of_instance(frame: Frame, value: Instance, index: Value, _: bool) -> Value:
    getter = frame.analysis.attributes.attribute(value, "__getitem__")
    given = _item_of_object(frame, value, frame.evaluator.call(frame, getter, Arguments((index,))))
    if isinstance(index, Constant) and isinstance(index.value, str):
        return apply_name_habits(given, index.value, frame)
    return given


def _part_of_what_is_no_tensor(_: Frame, value: Value, index: Value, is_slice: bool) -> Value:
    if isinstance(value, NonTensor) and value.dimensions is not None:
        return value._replace(dimensions=arrays.of_item(value.dimensions, index, is_slice=is_slice))
    if isinstance(index, Constant) and is_device(str(index.value)) and _holds_settings(value):
        return Device(None, device_taint=DeviceTaint.GIVEN)  # `settings["device"]`
    return NonTensor("int") if same(value, _SHAPE) and not is_slice else value


def _part_of_library_object(frame: Frame, value: LibraryObject, index: Value, is_slice: bool) -> Value:
    return library_values.item(frame, value, None if is_slice else index)


def _part_of_symbol(_: Frame, value: Symbol, __: Value, ___: bool) -> Value:
    return NonTensor(value.name) if library_values.gives_plain_values(value.name) else Unknown(Reason.ITEM)


_PARTS: dict[type, Callable[[Frame, Any, Value, bool], Value]] = {
    Union: _part_of_union,
    Sequence: _part_of_sequence,
    Mapping: _part_of_mapping,
    Tensor: _part_of_tensor,
    Unknown: _part_of_unknown,
    Instance: _part_of_instance,
    **dict.fromkeys((OtherFramework, NonTensor, Nothing), _part_of_what_is_no_tensor),
    LibraryObject: _part_of_library_object,
    Symbol: _part_of_symbol,
}


def _lacks(value: Value, key: Value) -> bool:
    """Whether it is a dict in which nothing has been put under a key: of several values it is not the one meant."""
    return isinstance(value, Mapping) and isinstance(key, Constant) and isinstance(value.get(key.value), Nothing)


def under_key(frame: Frame, holder: Unknown, item: Unknown, key: Value) -> Value:
    """What is taken out of something unknown, by its key: `batch["labels"]`, `batch.get("labels")`."""
    if not isinstance(key, Constant) or not isinstance(key.value, str):
        return item
    return library_values.known_by_term(frame.module, holder, f"[{key.value}]") or apply_name_habits(
        item, key.value, frame
    )


def _item_of_tensor(frame: Frame, tensor: Tensor) -> Tensor:
    """A view of the tensor, which keeps its grad under no_grad too, or a copy, which does not."""
    grad = tensor.requires_grad if frame.grad_mode or tensor.requires_grad is False else None
    taint = tensor.param_taint or bool(tensor.requires_grad)
    return tensor._replace(requires_grad=grad, layout=None, param_taint=taint)


def _dimensions_left(tensor: Tensor, index: Value, is_slice: bool) -> int | None:
    if is_slice or tensor.dimensions is None:
        return tensor.dimensions
    if not _is_position(index):
        return None
    taken = len(index.items or ()) if isinstance(index, Sequence) else 1
    return tensor.dimensions - taken if tensor.dimensions >= taken else None


def _is_position(index: Value) -> bool:
    """Whether an index takes one dimension or several away, and leaves a vector none."""
    if isinstance(index, Sequence):
        return index.items is not None and all(_is_position(item) for item in index.items)
    return (isinstance(index, Constant) and type(index.value) is int) or (
        isinstance(index, NonTensor) and index.what == "int"
    )


def item_of(frame: Frame, value: Value) -> Value:
    """What iterating over a value yields."""
    value = resolve(frame, value)
    if isinstance(value, Union):
        return join_all(item_of(frame, member) for member in value.members if not isinstance(member, Constant))
    if isinstance(value, Instance):
        return _item_of_instance(frame, value)
    if isinstance(value, Sequence):
        return value.element
    if isinstance(value, Mapping):
        return NonTensor("key")
    if isinstance(value, Unknown):
        return _item_of_unknown(value)
    if isinstance(value, Nothing):
        return NOTHING
    if isinstance(value, Tensor):
        left = value.dimensions - 1 if value.dimensions else None
        return _item_of_tensor(frame, value)._replace(is_item=True, is_number=True, dimensions=left)
    if isinstance(value, (OtherFramework, NonTensor)):
        if isinstance(value, NonTensor) and value.dimensions is not None:
            return value._replace(dimensions=arrays.of_iteration(value.dimensions))
        return NonTensor("int") if same(value, _SHAPE) else value
    if isinstance(value, LibraryObject):
        return library_values.item(frame, value)
    if isinstance(value, Constant):
        return Constant(value.value) if not isinstance(value.value, str) else NonTensor("str")
    return Unknown(Reason.ITEM)


def _item_of_unknown(value: Unknown) -> Unknown:
    """What is known of the tensors in a value holds for its items too; what is saved under a key is detached."""
    if value.reason is Reason.SAVED:
        return value._replace(requires_grad=False)
    if value.reason is Reason.DATASET:
        return Unknown(Reason.ITEM, True, False, evidence=value.evidence)
    if value.reason in GIVEN:
        return value._replace(reason=Reason.ITEM_OF_GIVEN)
    is_sent = value.reason is Reason.SENT
    return value._replace(reason=Reason.SENT if is_sent else Reason.ITEM, is_no_tensor=False)


def _item_of_instance(frame: Frame, value: Instance) -> Value:
    classes = frame.analysis.classes
    for name in ("__next__", "__iter__", "__getitem__"):
        method = classes.method(value.cls, name)
        if method is not None:
            arguments = Arguments((NonTensor("int"),) if name == "__getitem__" else ())
            found = frame.analysis.functions.call_function(method, value, arguments, frame.grad_mode)
            is_item = name != "__iter__" or found == value
            return _item_of_object(frame, value, found if is_item else item_of(frame, found))
    fields = frame.analysis.kinds.named_tuple_fields(value)
    return library_values.inherited_item(frame, value) if fields is None else fields.element


def _item_of_object(frame: Frame, owner: Instance, item: Value) -> Value:
    if not isinstance(item, NonTensor) and frame.analysis.kinds.is_dataset(owner.cls):
        return item_of_dataset(item, frame)
    return item
