"""From a value of which little is known, and its name or source, to what habits (habits/) say of it.

Used only where nothing better is known. What each habit means by a name is in its file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.beliefs import without_grad
from tonumpy.engine.values.reasons import MADE, Reason
from tonumpy.engine.values.value_facts import believed, mapped
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    Device,
    DeviceTaint,
    LibraryObject,
    Mapping,
    NonTensor,
    OtherFramework,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.habits import dataset_name, hooks, loader_name, part_of_batch
from tonumpy.inference.transfer import name_heuristics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tonumpy.engine.values.evidence import Basis, Where

LOADER = "torch.utils.data.DataLoader"

# The hooks of each phase, as habits/__init__.py lists them.
_OF_NAME: tuple[Callable[[str, Value, Where], Basis | None], ...] = hooks("of_name")
_OF_ITEM: tuple[Callable[[str, Where], Basis | None], ...] = hooks("of_item")
_OF_COMPUTED: tuple[Callable[[str, Where], Basis | None], ...] = hooks("of_computed")


# What transformers' `return_tensors` asks for, other than tensors of torch.
_OTHER_TENSORS: dict[str, Value] = {
    "np": NonTensor("numpy.ndarray"),
    "tf": OtherFramework("tensorflow"),
    "jax": OtherFramework("jax"),
    "mlx": OtherFramework("mlx"),
}


def asked_for_as(arguments: Arguments) -> Value | None:
    """What a function gives that `return_tensors="tf"` tells, as it does transformers' own, to give none of torch's."""
    asked = arguments.named_value("return_tensors")
    return _OTHER_TENSORS.get(asked.value) if isinstance(asked, Constant) and isinstance(asked.value, str) else None


def apply_name_habits(value: Value, name: str, where: Where, *, is_item: bool = False) -> Value:
    """The value of a parameter, attribute or key, by its name.

    `is_item`: it is the variable of a loop, or a part of what an iterator yields.
    """
    value = apply_source_habits(value, name, where)
    if isinstance(value, Unknown) and value.reason is not Reason.TOO_MANY and name_heuristics.is_device(name):
        return Device(value.on_cpu, device_taint=DeviceTaint.GIVEN if value.on_cpu is None else DeviceTaint.NONE)
    if isinstance(value, (Sequence, Mapping)) and part_of_batch.is_batch(name):
        basis = where.habit("part-of-batch", f"`{name}` is named like a batch")
        return mapped(value, lambda part: without_grad(part, basis))
    if isinstance(value, (Sequence, Mapping, Union)):
        return mapped(value, lambda part: apply_name_habits(part, name, where, is_item=is_item))
    if not isinstance(value, (Tensor, Unknown)) or value.requires_grad is not None:
        return value
    if is_item and isinstance(value, Tensor) and not value.is_given and value.certainty == "tensor":
        return apply_index_habits(value, name, where)  # what has been computed, whatever a loop calls it
    basis = _basis_of_name(value, name, where, is_item=is_item)
    return apply_index_habits(value, name, where) if basis is None else believed(value, basis, requires_grad=False)


def _basis_of_name(value: Value, name: str, where: Where, *, is_item: bool) -> Basis | None:
    """What the first habit says that knows the name."""
    basis: Basis | None = None
    if is_item:
        for of_item in _OF_ITEM:
            basis = basis or of_item(name, where)
    for of_name in _OF_NAME:
        basis = basis or of_name(name, value, where)
    return basis


def apply_index_habits(value: Value, name: str, where: Where) -> Value:
    """The value of a variable that is named like an index: `kept_inds = nms(boxes, scores)`."""
    if isinstance(value, (Sequence, Union)):
        return mapped(value, lambda part: apply_index_habits(part, name, where))
    if isinstance(value, (Tensor, Unknown)):
        for of_computed in _OF_COMPUTED:
            if value.requires_grad is None:
                value = believed(value, of_computed(name, where), requires_grad=False)
    return value


def apply_source_habits(value: Value, name: str, where: Where, given: Iterable[str] = ()) -> Value:
    """The data loader or dataset that an unknown value is, by its name.

    `given` names the arguments of the call that made it: if these include a loader or a device, it may bring batches
    elsewhere.
    """
    if not isinstance(value, Unknown) or value.on_cpu is False or value.requires_grad is True:
        return value
    if (
        dataset_name.is_meant(name)
        and value.reason is not Reason.SENT
        and not any("device" in other for other in given)
    ):
        basis = where.habit("dataset-name", f"`{name}` is named like a dataset")
        if basis is not None:
            evidence = value.evidence | basis.about("device", "grad")
            return Unknown(Reason.DATASET, value.on_cpu, False, evidence=evidence)
    if (value.on_cpu, value.requires_grad) != (None, None):
        return value
    if not loader_name.is_meant(name) or any(loader_name.is_meant(other) or "device" in other for other in given):
        return value
    basis = where.habit("loader-name", f"`{name}` is named like a data loader")
    if basis is None:
        return value
    loader = LibraryObject(LOADER, True, False, evidence=value.evidence | basis.about("kind"))
    return Sequence(None, loader) if name.endswith("s") else loader


def apply_key_habits(value: Value, constant: str | None, where: Where) -> Value:
    """The value under a constant key, by the constant's name: `batch[self.ITEM_ID]`, `data[EDGE_INDEX_KEY]`. A variable
    key says nothing."""
    if constant is None or not constant.isupper():
        return value
    return apply_name_habits(value, constant.lower().removesuffix("_key"), where)


def holder_of_data(value: Unknown, name: str | None, where: Where, *, has_names: bool) -> Unknown:
    """The value of a batch or of data, by its name, when a part of it is read: `batch["image"]`, `batch[0]`,
    `data.x`."""
    if value.requires_grad is not None or name is None or not was_given(value):
        return value
    if not part_of_batch.is_meant(name, has_names=has_names):
        return value
    return believed(value, where.habit("part-of-batch", f"`{name}` is named like a batch or data"), requires_grad=False)


def may_hold_data(name: str | None) -> bool:
    """True for names of batches and data."""
    return name is not None and ("data" in name or "batch" in name)


def was_given(value: Unknown) -> bool:
    """True if no function or module in sight has made the value."""
    return value.reason not in MADE


def taken_for_data(value: Tensor, basis: Basis | None) -> Tensor:
    """A tensor that was given, and of which nothing is known, as data on the CPU, by the habit `basis`."""
    is_obscure = value.on_cpu is None and value.requires_grad is not True
    is_given = value.is_given and not value.device_taint
    return believed(value, basis, on_cpu=True, requires_grad=False) if is_obscure and is_given else value


def held_by_dataset(value: Value, where: Where) -> Value:
    """The value of an attribute of a Dataset: data on the CPU, which workers can share."""
    return kept_as_data(value, where.habit("content-of-dataset", "a Dataset keeps its data on the CPU"))


def kept_as_data(value: Value, basis: Basis | None) -> Value:
    """The value, with what was given and is unknown taken for data on the CPU, by the habit `basis`."""
    if isinstance(value, Tensor):
        return taken_for_data(value, basis)
    if isinstance(value, Unknown):
        is_obscure = value.on_cpu is None and value.requires_grad is not True and was_given(value)
        is_obscure = is_obscure and not value.device_taint and not value.param_taint
        if not is_obscure or basis is None:
            return value
        return believed(value._replace(reason=Reason.DATASET_PART), basis, on_cpu=True, requires_grad=False)
    return mapped(value, lambda part: kept_as_data(part, basis))


def item_of_dataset(value: Value, where: Where) -> Value:
    """The value of a Dataset's item: data on the CPU, where nothing better is known of it."""
    return _given(value, where.habit("content-of-dataset", "a Dataset returns data on the CPU"))


def _given(value: Value, basis: Basis | None) -> Value:
    if isinstance(value, Tensor):
        # What a model makes in `__getitem__`, or sends somewhere, is seen to be no data.
        on_cpu, requires_grad = None if value.device_taint else True, None if value.param_taint else False
        return believed(value, basis, on_cpu=on_cpu, requires_grad=requires_grad)
    if isinstance(value, Unknown):
        is_obscure = value.on_cpu is not False and value.requires_grad is not True and value.reason is not Reason.SENT
        is_obscure = is_obscure and not value.device_taint and not value.param_taint
        if not is_obscure or basis is None:
            return value
        return believed(value._replace(reason=Reason.ITEM), basis, on_cpu=True, requires_grad=False)
    return mapped(value, lambda part: _given(part, basis))


def where_no_accelerator_is(value: Value) -> Value:
    """What was made where a condition says that the CPU is in use."""
    if isinstance(value, Unknown) or (isinstance(value, Tensor) and not value.device_taint):
        return value._replace(on_cpu=True) if value.on_cpu is None else value
    return mapped(value, where_no_accelerator_is)
