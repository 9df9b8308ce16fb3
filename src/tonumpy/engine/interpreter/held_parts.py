"""Parts of library objects: layers, wrapped modules, the batches of a loader."""

from __future__ import annotations

from collections.abc import Callable

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.knowledge.libraries.rows import (
    is_module,
)
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    mapped,
    members,
    tensor_facts,
)
from tonumpy.facts import Fact

LOADER = "torch.utils.data.DataLoader"


def of_owner(
    frame: Frame, kind: str, detail: str, tensor: v.Tensor, owner: v.LibraryObject, arguments: v.Arguments
) -> v.Value | None:
    """The value for a word in a row's `returns` that refers to the object itself; None for other words."""
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
        return sequence_of(list(map(frame.item, columns))) if columns else v.Sequence(None, tensor)
    if kind == "items":
        dataset = _held(owner, detail)
        return None if dataset is None else frame.item(dataset)
    return _collated(frame, tensor, owner) if kind == "collated" else None


def _outputs(owner: v.LibraryObject, detail: str, tensor: v.Tensor) -> v.Value | None:
    return None if owner.dtype is None else v.LibraryObject(detail, *tensor_facts(tensor), dtype=owner.dtype)


def _sequential(owner: v.LibraryObject, _: str, tensor: v.Tensor) -> v.Value | None:
    are_layers = all(isinstance(each, v.LibraryObject) for each in members(layer(owner, None)))
    return tensor._replace(certainty="likely") if are_layers else None


def _layers(owner: v.LibraryObject, detail: str, arguments: v.Arguments) -> v.Value:
    one = layer(owner, arguments.get(0, "index"))
    pair = v.Sequence((v.NonTensor("str"), one), one)
    return {"": one, "values": v.Sequence(None, one), "items": v.Sequence(None, pair)}[detail]


def _held(owner: v.LibraryObject, name: str) -> v.Value | None:
    return None if owner.arguments is None else owner.arguments.get(0, name)


def _wrapped(owner: v.LibraryObject) -> v.Value:
    return _as_held(owner, _held(owner, "module") or v.Unknown(Reason.LIBRARY))


_OF_OBJECTS: dict[str, Callable[[v.LibraryObject, str, v.Tensor], v.Value | None]] = {
    "outputs": _outputs,
    "sequential": _sequential,
    "wrapped": lambda owner, *_: _wrapped(owner),
    "arguments": lambda owner, *_: None if owner.arguments is None else sequence_of(list(owner.arguments.positional)),
    "given": lambda owner, detail, _: _held(owner, detail),
}


def _composed(frame: Frame, owner: v.LibraryObject, arguments: v.Arguments) -> v.Value | None:
    """The result of applying the transforms of a `Compose` to an argument."""
    steps = _held(owner, "transforms")
    if not isinstance(steps, v.Sequence) or steps.items is None or not arguments.positional:
        return None
    value = arguments.positional[0]
    for step in steps.items:
        value = frame.call(step, v.Arguments((value,)))
    return value


def _collated(frame: Frame, tensor: v.Tensor, owner: v.LibraryObject) -> v.Value:
    unknown = v.Unknown(Reason.LIBRARY, tensor.on_cpu, tensor.requires_grad, evidence=tensor.evidence)
    dataset = _held(owner, "dataset")
    if owner.arguments is None or dataset is None or owner.arguments.get(7, "collate_fn") is not None:
        return unknown
    given = frame.item(dataset)
    return collate(frame.as_data(given) if isinstance(dataset, v.Instance) else given, unknown, frame.mode)


def prepared(frame: Frame, value: v.Value) -> v.Value:
    """The result of `accelerator.prepare` for a loader or a module."""
    if isinstance(value, v.LibraryObject) and value.name == LOADER:
        return v.LibraryObject("accelerate.data_loader.DataLoaderShard", arguments=value.arguments)
    if isinstance(value, v.Instance) and frame.analysis.classes.is_module(value.cls):
        return value._replace(on_cpu=None, device_taint=v.DeviceTaint.CHOSEN)
    if isinstance(value, v.LibraryObject) and is_module([value.name]):
        return value._replace(on_cpu=None, device_taint=v.DeviceTaint.CHOSEN)
    return value


def layer(owner: v.LibraryObject, index: v.Value | None) -> v.Value:
    """The module in a container at an index or under a name."""
    given = () if owner.arguments is None else owner.arguments.positional
    whole = given[0] if len(given) == 1 and isinstance(given[0], (v.Sequence, v.Mapping)) else sequence_of(given)
    found: v.Value
    if isinstance(whole, v.Mapping):
        found = whole.get(index.value) if isinstance(index, v.Constant) else join_all(whole.values())
    else:
        items, place = whole.items or (), index.value if isinstance(index, v.Constant) else None
        found = whole.element
        if isinstance(place, int) and -len(items) <= place < len(items):
            found = items[place]
    return _as_held(owner, found)


def _as_held(owner: v.LibraryObject, value: v.Value) -> v.Value:
    if isinstance(value, v.Union):
        return join_all(_as_held(owner, each) for each in value.members)
    if isinstance(value, (v.LibraryObject, v.Instance, v.Tensor)):
        dtype = value.dtype if isinstance(value, v.Tensor) else owner.dtype or value.dtype
        there = value._replace(on_cpu=owner.on_cpu, requires_grad=owner.requires_grad)
        return there._replace(dtype=dtype, device_taint=owner.device_taint)
    return v.Unknown(Reason.LIBRARY, owner.on_cpu, owner.requires_grad, device_taint=owner.device_taint)


def collate(item_: v.Value, unknown: v.Unknown, mode: Fact) -> v.Value:
    """The batch that torch's default_collate makes of an item: arrays and numbers become CPU tensors."""
    if isinstance(item_, v.Sequence):
        parts = [collate(each, unknown, mode) for each in item_.items] if item_.items is not None else None
        return sequence_of(parts) if parts is not None else v.Sequence(None, collate(item_.element, unknown, mode))
    if isinstance(item_, v.Mapping):
        return mapped(item_, lambda part: collate(part, unknown, mode))
    if isinstance(item_, v.Tensor):
        return item_._replace(is_number=False, is_item=False)
    is_number = isinstance(item_, v.NonTensor) and item_.what not in ("str", "key")
    is_number = is_number or (isinstance(item_, v.Constant) and isinstance(item_.value, (int, float)))
    if is_number:
        return v.Tensor(True, False, evidence=unknown.evidence)
    if isinstance(item_, v.Unknown):
        facts = (
            True if item_.on_cpu else unknown.on_cpu,
            False if item_.requires_grad is False else unknown.requires_grad,
        )
        return v.Unknown(Reason.LIBRARY, *facts, evidence=item_.evidence | unknown.evidence)
    return item_ if isinstance(item_, (v.Constant, v.NonTensor)) else unknown
