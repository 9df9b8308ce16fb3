"""From a word in the `returns` of a library's row (`mapping`, `tuple:2`) to the value it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.libraries.rows import is_module
from tonumpy.engine.knowledge.operands import combine, result_facts
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import ITEMS, Reason
from tonumpy.engine.values.value_facts import evidence_in, mapped, members, tensor_facts
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    Constant,
    Device,
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    same,
)
from tonumpy.inference.transfer.habit_heuristics import LOADER, item_of_dataset
from tonumpy.inference.transfer.module_containers import layer, made_around, scattered, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame


class Promised(NamedTuple):
    """What a word is about: a call, and the tensor whose facts the row has worked out for it."""

    frame: Frame
    tensor: Tensor
    owner: Value | None
    arguments: Arguments
    detail: str = ""  # behind the colon of the word

    def unknown(self, reason: Reason = Reason.LIBRARY) -> Unknown:
        tensor = self.tensor
        return Unknown(reason, tensor.on_cpu, tensor.requires_grad, evidence=tensor.evidence)

    def item(self, value: Value) -> Value:
        return self.frame.evaluator.item(self.frame, value)


def value_of(word: str, about: Promised) -> Value:
    kind, _, detail = word.partition(":")
    about = about._replace(detail=detail)
    made = _ALWAYS[kind](about) if kind in _ALWAYS else None
    if made is None and kind in _OF_OWNER and isinstance(about.owner, LibraryObject):
        made = _OF_OWNER[kind](about, about.owner)
    if made is None and kind in _OF_ARGUMENTS and about.arguments.positional:
        made = _OF_ARGUMENTS[kind](about, about.arguments.positional)
    if made is not None:
        return made
    return about.unknown()._replace(device_taint=about.tensor.device_taint, param_taint=about.tensor.param_taint)


def _recurrent(about: Promised) -> Value:
    """Packed sequences where it is given one."""
    given = about.arguments.positional
    return about.tensor if given and isinstance(given[0], Tensor) else about.unknown()


def _object(about: Promised) -> LibraryObject:
    cpu, grad, evidence = about.tensor.on_cpu, about.tensor.requires_grad, about.tensor.evidence
    return LibraryObject(about.detail, cpu, grad, evidence=evidence, device_taint=about.tensor.device_taint)


def _device(about: Promised) -> Device:
    cpu = about.tensor.on_cpu
    return Device(cpu, device_taint=DeviceTaint.CHOSEN if cpu is None else DeviceTaint.NONE)


def _for_each(about: Promised) -> Value:
    tree = about.arguments.get(1, "tree") or about.unknown(Reason.CONTENT)
    return _each(about.frame, about.arguments.get(0, "func"), tree)


def _chain(about: Promised) -> Value:
    items = (*map(about.item, about.arguments.positional), about.item(about.arguments.starred))
    return Sequence(None, join_all(items))


_ALWAYS: dict[str, Callable[[Promised], Value | None]] = {
    "tensor": lambda about: about.tensor,
    "recurrent": _recurrent,
    "optionals": lambda about: Sequence(None, join_all((about.tensor, NONE))),
    "sequence": lambda about: Sequence(None, _object(about) if about.detail else about.tensor),
    "tuple": lambda about: Sequence((about.tensor,) * int(about.detail), about.tensor),
    "mapping": lambda about: Mapping((), about.tensor),
    "pairs": lambda about: Sequence(None, Sequence((NonTensor("str"), about.tensor), about.tensor)),
    "plain": lambda about: NonTensor(about.detail or "library value"),
    "none": lambda _: NONE,
    "nothing": lambda _: NOTHING,
    "object": _object,
    "device": _device,
    "self": lambda about: about.owner,
    "foreign": lambda about: OtherFramework(about.detail),
    "splits": lambda about: Sequence(None, LibraryObject("torch.utils.data.Subset", arguments=about.arguments)),
    "each": _for_each,
    "saved": lambda about: Unknown(Reason.SAVED, about.tensor.on_cpu, evidence=about.tensor.evidence),
    "chain": _chain,
}


def _outputs(about: Promised, owner: LibraryObject) -> Value | None:
    return None if owner.dtype is None else _object(about)._replace(dtype=owner.dtype)


def _sequential(about: Promised, owner: LibraryObject) -> Value | None:
    """Layers of libraries give a tensor; those of the repository may give anything."""
    parts = members(layer(owner, None))
    is_likely = all(isinstance(part, LibraryObject) for part in parts)
    return about.tensor._replace(certainty="likely") if is_likely else None


def _layers(about: Promised, owner: LibraryObject) -> Value:
    one = layer(owner, about.arguments.get(0, "index"))
    pair = Sequence((NonTensor("str"), one), one)
    return {"": one, "values": Sequence(None, one), "items": Sequence(None, pair)}[about.detail]


def _rows(about: Promised, owner: LibraryObject) -> Value:
    columns = () if owner.arguments is None else owner.arguments.positional
    return sequence_of(list(map(about.item, columns))) if columns else Sequence(None, about.tensor)


def _own_arguments(_: Promised, owner: LibraryObject) -> Value | None:
    return None if owner.arguments is None else sequence_of(list(owner.arguments.positional))


def _items(about: Promised, owner: LibraryObject) -> Value:
    dataset = made_around(owner, about.detail)
    if dataset is None:
        return about.unknown(Reason.ITEM)
    return about.item(dataset.element if isinstance(dataset, Sequence) else dataset)  # or one of several


def _call(about: Promised, owner: LibraryObject) -> Value:
    function, arguments = made_around(owner, about.detail), about.arguments
    if is_module([owner.name]):
        function, arguments = wrapped(owner), scattered(owner, arguments)
    return _called(about.frame, function, arguments) or about.unknown()


_OF_OWNER: dict[str, Callable[[Promised, LibraryObject], Value | None]] = {
    "outputs": _outputs,
    "sequential": _sequential,
    "layers": _layers,
    "wrapped": lambda _, owner: wrapped(owner),
    "composed": lambda about, owner: _composed(about.frame, owner, about.arguments) or about.unknown(),
    "transformed": lambda about, owner: _transformed(about.frame, owner),
    "rows": _rows,
    "arguments": _own_arguments,
    "items": _items,
    "collated": lambda about, owner: _collated(about, owner),
    "given": lambda about, owner: made_around(owner, about.detail) or about.unknown(Reason.DATASET_PART),
    "called": _call,
}


def _all_prepared(about: Promised, given: Items[Value]) -> Value | None:
    if about.arguments.has_star:
        return None
    made = [_prepared(about.frame, value) for value in given]
    return made[0] if len(made) == 1 else sequence_of(made)


def _operation(about: Promised, given: Items[Value]) -> Value:
    operands = [value.element if isinstance(value, Sequence) else value for value in given]
    return combine(operands, about.frame.grad_mode)


def _batch(about: Promised, given: Items[Value]) -> Value:
    return _collate(about.item(given[0]), about.unknown(), about.frame.grad_mode)


_OF_ARGUMENTS: dict[str, Callable[[Promised, Items[Value]], Value | None]] = {
    "first": lambda _, given: given[0],
    "second": lambda _, given: given[1] if len(given) > 1 else None,
    "prepared": _all_prepared,
    "operation": _operation,
    "collated": _batch,
    "item": lambda about, given: about.item(given[0]),
    "iterator": lambda about, given: Sequence(None, about.item(given[0])),
    "flattened": lambda about, given: Sequence(None, about.item(about.item(given[0]))),
    "tuples": lambda about, given: Sequence(None, sequence_of(list(map(about.item, given)))),
}


def _prepared(frame: Frame, value: Value) -> Value:
    """What accelerate makes of a model or a loader: the same, on a device that it chooses; of others, nothing."""
    if isinstance(value, LibraryObject) and value.name == LOADER:
        return LibraryObject("accelerate.data_loader.DataLoaderShard", arguments=value.arguments)
    if isinstance(value, Instance) and frame.analysis.kinds.is_module(value.cls):
        return value._replace(on_cpu=None, device_taint=DeviceTaint.CHOSEN)
    if isinstance(value, LibraryObject) and is_module([value.name]):
        return value._replace(on_cpu=None, device_taint=DeviceTaint.CHOSEN)
    return value


def _collated(about: Promised, loader: LibraryObject) -> Value:
    """A batch of a loader: the items of its dataset, numbers and arrays made tensors, unless a collate_fn is given."""
    frame, unknown, arguments = about.frame, about.unknown(), loader.arguments
    dataset = None if arguments is None else arguments.get(0, "dataset")
    if arguments is None or dataset is None:
        return unknown
    if arguments.get(7, "collate_fn") is None:
        item = about.item(dataset)
        given = item_of_dataset(item, frame) if isinstance(dataset, Instance) else item
        return _collate(given, unknown, frame.grad_mode)
    if isinstance(dataset, Sequence) or getattr(dataset, "name", "") == "torch.utils.data.TensorDataset":
        item = about.item(dataset)  # it is made of tensors in sight
        return Unknown(Reason.LIBRARY, *tensor_facts(item), evidence=evidence_in(item))
    return unknown


def _collate(item: Value, unknown: Unknown, grad_mode: Fact, place: str = "<batch>") -> Value:
    """Each tensor is a new one, whatever the dataset made it of: `place` is the only name that has held it."""
    if isinstance(item, Tensor):  # stacked
        return item._replace(requires_grad=result_facts([item], grad_mode)[1], origins=frozenset((place,)))
    if isinstance(item, NonTensor):
        return NonTensor("list of str") if item.what == "str" else Tensor(True, False)
    if isinstance(item, Constant):
        return Tensor(True, False) if isinstance(item.value, (int, float)) else NonTensor("list of str")
    if isinstance(item, Sequence) and item.items:
        items = [_collate(each, unknown, grad_mode, f"{place}[{position}]") for position, each in enumerate(item.items)]
        return Sequence(tuple(items), join_all(items), item.fields)
    if isinstance(item, Sequence):
        return Sequence(item.items, _collate(item.element, unknown, grad_mode, f"{place}[]"), item.fields)
    if isinstance(item, Mapping):
        entries = tuple((key, _collate(value, unknown, grad_mode, f"{place}[{key!r}]")) for key, value in item.entries)
        is_whole = isinstance(item.other, Nothing)
        return Mapping(entries, item.other if is_whole else _collate(item.other, unknown, grad_mode, f"{place}[]"))
    if isinstance(item, Union):
        return join_all(_collate(member, unknown, grad_mode, place) for member in item.members)
    if isinstance(item, Unknown) and item.param_taint and item.reason in ITEMS:
        return item._replace(on_cpu=None if item.device_taint else True)  # callers know better what they have given
    return unknown


def _composed(frame: Frame, owner: LibraryObject, arguments: Arguments) -> Value | None:
    """What transforms applied one after the other make of an argument; None where they are not in sight."""
    steps = made_around(owner, "transforms")
    if not isinstance(steps, Sequence) or len(arguments.positional) != 1:
        return None
    value = arguments.positional[0]
    if steps.items is None:
        return _composed_anyhow(frame, steps.element, value)
    for step in steps.items:
        value = frame.evaluator.call(frame, step, Arguments((value,)))
    return value


def _called(frame: Frame, function: Value | None, arguments: Arguments) -> Value | None:
    """What the function gives that an object was made with: `Lambda(f)(x)`; None where it is not in sight."""
    return (
        None if function is None or isinstance(function, Unknown) else frame.evaluator.call(frame, function, arguments)
    )


def _each(frame: Frame, function: Value | None, held: Value) -> Value:
    """What becomes of containers in containers when a function is called on each thing that is in them."""
    if isinstance(held, (Mapping, Sequence, Union)):
        return mapped(held, lambda part: _each(frame, function, part))
    if isinstance(held, Nothing):
        return held
    made = _called(frame, function, Arguments((held,))) or Unknown(Reason.LIBRARY)
    # Of something unknown, which may be a container itself, it is only known what holds for each thing in it.
    if not isinstance(held, Unknown):
        return made
    return Unknown(Reason.CONTENT, *tensor_facts(made), evidence=evidence_in(made))


_MAX_STEPS = 4  # one makes a tensor, one an image of it again: what comes of the rest is the same


def _composed_anyhow(frame: Frame, step: Value, value: Value) -> Value | None:
    """What any number of steps make of a value, of which each is one of several; None where that does not settle."""
    for _ in range(_MAX_STEPS):
        after = join(value, frame.evaluator.call(frame, step, Arguments((value,))))
        if same(after, value):
            return value
        value = after
    return None


def _transformed(frame: Frame, owner: LibraryObject) -> Value:
    """The image of a dataset's item: PIL's, or what the dataset's `transform` makes of it."""
    if owner.arguments is None:
        return Unknown(Reason.ITEM)
    transform = owner.arguments.named_value("transform")
    image = NonTensor("image")
    return (
        image
        if transform is None or same(transform, NONE)
        else frame.evaluator.call(frame, transform, Arguments((image,)))
    )
