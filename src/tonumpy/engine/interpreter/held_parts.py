"""Tells what objects of libraries hold: layers, wrapped modules, the batches of a loader."""

from __future__ import annotations

from collections.abc import Callable

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.knowledge.libraries.rows import (
    is_module,
)
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    mapped,
    members,
    tensor_facts,
)
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.facts import Fact

LOADER = "torch.utils.data.DataLoader"


def of_owner(
    frame: Frame, kind: str, detail: str, tensor: Tensor, owner: LibraryObject, arguments: Arguments
) -> Value | None:
    """Return what a word in the `returns` of a row stands for that speaks of the object itself; None of other words."""
    if kind in _OF_OBJECTS:
        return _OF_OBJECTS[kind](owner, detail, tensor)
    if kind == "layers":
        return _layers(owner, detail, arguments)
    if kind == "composed":
        return _composed(frame, owner, arguments)
    if kind == "called":
        inner = _wrapped(owner) if is_module([owner.name]) else _held(owner, detail)
        return None if inner is None else frame.call(inner, arguments)
    if kind == "rows":
        columns = () if owner.arguments is None else owner.arguments.positional
        return sequence_of(list(map(frame.item, columns))) if columns else Sequence(None, tensor)
    if kind == "items":
        dataset = _held(owner, detail)
        return None if dataset is None else frame.item(dataset)
    return _collated(frame, tensor, owner) if kind == "collated" else None


def _outputs(owner: LibraryObject, detail: str, tensor: Tensor) -> Value | None:
    return None if owner.dtype is None else LibraryObject(detail, *tensor_facts(tensor), dtype=owner.dtype)


def _sequential(owner: LibraryObject, _: str, tensor: Tensor) -> Value | None:
    are_layers = all(isinstance(each, LibraryObject) for each in members(layer(owner, None)))
    return tensor._replace(certainty="likely") if are_layers else None


def _layers(owner: LibraryObject, detail: str, arguments: Arguments) -> Value:
    one = layer(owner, arguments.get(0, "index"))
    pair = Sequence((NonTensor("str"), one), one)
    return {"": one, "values": Sequence(None, one), "items": Sequence(None, pair)}[detail]


def _held(owner: LibraryObject, name: str) -> Value | None:
    return None if owner.arguments is None else owner.arguments.get(0, name)


def _wrapped(owner: LibraryObject) -> Value:
    return _as_held(owner, _held(owner, "module") or Unknown(Reason.LIBRARY))


_OF_OBJECTS: dict[str, Callable[[LibraryObject, str, Tensor], Value | None]] = {
    "outputs": _outputs,
    "sequential": _sequential,
    "wrapped": lambda owner, *_: _wrapped(owner),
    "arguments": lambda owner, *_: None if owner.arguments is None else sequence_of(list(owner.arguments.positional)),
    "given": lambda owner, detail, _: _held(owner, detail),
}


def _composed(frame: Frame, owner: LibraryObject, arguments: Arguments) -> Value | None:
    """Return what the transforms of a `Compose` make of an argument, one after the other."""
    steps = _held(owner, "transforms")
    if not isinstance(steps, Sequence) or steps.items is None or not arguments.positional:
        return None
    value = arguments.positional[0]
    for step in steps.items:
        value = frame.call(step, Arguments((value,)))
    return value


def _collated(frame: Frame, tensor: Tensor, owner: LibraryObject) -> Value:
    unknown = Unknown(Reason.LIBRARY, tensor.on_cpu, tensor.requires_grad, evidence=tensor.evidence)
    dataset = _held(owner, "dataset")
    if owner.arguments is None or dataset is None or owner.arguments.get(7, "collate_fn") is not None:
        return unknown
    given = frame.item(dataset)
    return collate(frame.as_data(given) if isinstance(dataset, Instance) else given, unknown, frame.mode)


def prepared(frame: Frame, value: Value) -> Value:
    """Return what `accelerator.prepare` makes of a loader or a module."""
    if isinstance(value, LibraryObject) and value.name == LOADER:
        return LibraryObject("accelerate.data_loader.DataLoaderShard", arguments=value.arguments)
    if isinstance(value, Instance) and frame.analysis.classes.is_module(value.cls):
        return value._replace(on_cpu=None, device_taint=DeviceTaint.CHOSEN)
    if isinstance(value, LibraryObject) and is_module([value.name]):
        return value._replace(on_cpu=None, device_taint=DeviceTaint.CHOSEN)
    return value


def layer(owner: LibraryObject, index: Value | None) -> Value:
    """Return what stands in a container of modules at an index or under a name."""
    given = () if owner.arguments is None else owner.arguments.positional
    whole = given[0] if len(given) == 1 and isinstance(given[0], (Sequence, Mapping)) else sequence_of(given)
    found: Value
    if isinstance(whole, Mapping):
        found = whole.get(index.value) if isinstance(index, Constant) else join_all(whole.values())
    else:
        items, place = whole.items or (), index.value if isinstance(index, Constant) else None
        found = whole.element
        if isinstance(place, int) and -len(items) <= place < len(items):
            found = items[place]
    return _as_held(owner, found)


def _as_held(owner: LibraryObject, value: Value) -> Value:
    if isinstance(value, Union):
        return join_all(_as_held(owner, each) for each in value.members)
    if isinstance(value, (LibraryObject, Instance, Tensor)):
        dtype = value.dtype if isinstance(value, Tensor) else owner.dtype or value.dtype
        there = value._replace(on_cpu=owner.on_cpu, requires_grad=owner.requires_grad)
        return there._replace(dtype=dtype, device_taint=owner.device_taint)
    return Unknown(Reason.LIBRARY, owner.on_cpu, owner.requires_grad, device_taint=owner.device_taint)


def collate(item_: Value, unknown: Unknown, mode: Fact) -> Value:
    """A batch of such items, as torch's default_collate makes it: arrays and numbers become tensors on the CPU."""
    if isinstance(item_, Sequence):
        parts = [collate(each, unknown, mode) for each in item_.items] if item_.items is not None else None
        return sequence_of(parts) if parts is not None else Sequence(None, collate(item_.element, unknown, mode))
    if isinstance(item_, Mapping):
        return mapped(item_, lambda part: collate(part, unknown, mode))
    if isinstance(item_, Tensor):
        return item_._replace(is_number=False, is_item=False)
    is_number = isinstance(item_, NonTensor) and item_.what not in ("str", "key")
    is_number = is_number or (isinstance(item_, Constant) and isinstance(item_.value, (int, float)))
    if is_number:
        return Tensor(True, False, evidence=unknown.evidence)
    if isinstance(item_, Unknown):
        facts = (
            True if item_.on_cpu else unknown.on_cpu,
            False if item_.requires_grad is False else unknown.requires_grad,
        )
        return Unknown(Reason.LIBRARY, *facts, evidence=item_.evidence | unknown.evidence)
    return item_ if isinstance(item_, (Constant, NonTensor)) else unknown
