"""Applies the habits of names to values (see knowledge/habits.py for the table)."""

from __future__ import annotations

import re
from functools import lru_cache

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import Basis, Where
from tonumpy.engine.values.reasons import MADE, Reason
from tonumpy.engine.values.value_facts import believed, mapped

LOADER = "torch.utils.data.DataLoader"
_DEVICE = re.compile(r"(^|_)(device|dev)$")


@lru_cache(maxsize=16384)
def is_device(name: str) -> bool:
    """True if a name ends in `device` or `dev`."""
    return _DEVICE.search(name) is not None


def by_name(where: Where, value: v.Value, name: str, *, is_item: bool = False) -> v.Value:
    """The value of a parameter, attribute, key or loop variable, with the habits of its name applied. `is_item`: it is
    a loop variable, or a part of an unpacked value.
    """
    value = source(where, value, name)
    if isinstance(value, v.Unknown) and value.reason is not Reason.TOO_MANY and is_device(name):
        return v.Device(value.on_cpu, device_taint=v.DeviceTaint.GIVEN if value.on_cpu is None else v.DeviceTaint.NONE)
    if isinstance(value, (v.Sequence, v.Mapping, v.Union)):
        return mapped(value, lambda part: by_name(where, part, name, is_item=is_item))
    if not isinstance(value, (v.Tensor, v.Unknown)) or value.requires_grad is not None:
        return value
    is_computed = is_item and isinstance(value, v.Tensor) and not value.is_given and value.certainty == "tensor"
    if is_computed or not is_named("label-name", name):
        return by_binding(where, value, name)
    basis = where.habit("label-name", f"`{name}` is named like a label, a length or a mask")
    return believed(value, basis, requires_grad=False)


def by_binding(where: Where, value: v.Value, name: str) -> v.Value:
    """The value of an assigned variable, with the habits of its name applied: an index never requires grad."""
    if not isinstance(value, (v.Tensor, v.Unknown)):
        return value
    if value.requires_grad is None and is_named("index-name", name):
        return believed(value, where.habit("index-name", f"`{name}` is named like an index"), requires_grad=False)
    return source(where, value, name) if isinstance(value, v.Unknown) and value.reason not in MADE else value


def source(where: Where, value: v.Value, name: str) -> v.Value:
    """An unknown value as the data loader, dataset or batch that its name suggests."""
    if not isinstance(value, v.Unknown) or value.on_cpu is False or value.requires_grad is True:
        return value
    if value.reason is not Reason.SENT and is_named("dataset-name", name):
        basis = where.habit("dataset-name", f"`{name}` is named like a dataset")
        if basis is not None:
            evidence = value.evidence | basis.about("device", "grad")
            return v.Unknown(Reason.DATASET, value.on_cpu, False, evidence=evidence)
    if (value.on_cpu, value.requires_grad) == (None, None) and is_named("loader-name", name):
        basis = where.habit("loader-name", f"`{name}` is named like a data loader")
        if basis is not None:
            loader = v.LibraryObject(LOADER, True, False, evidence=value.evidence | basis.about("device", "grad"))
            return v.Sequence(None, loader) if name.endswith("s") else loader
    if value.reason not in MADE and is_named("part-of-batch", name):
        return believed(value, where.habit("part-of-batch", f"`{name}` is named like a batch"), requires_grad=False)
    return value


def as_data(where: Where, value: v.Value) -> v.Value:
    """An item or attribute of a Dataset as data on the CPU, where its facts are unknown."""
    return _kept(value, where.habit("content-of-dataset", "a Dataset returns data on the CPU"))


def believe_data(where: Where, value: v.Value, habit: str, message: str) -> v.Value:
    """The value as data on the CPU, by the given habit."""
    return _kept(value, where.habit(habit, message))


def _kept(value: v.Value, basis: Basis | None) -> v.Value:
    if isinstance(value, (v.Tensor, v.Unknown)):
        if value.on_cpu is False or value.requires_grad is True or value.device_taint:
            return value
        if isinstance(value, v.Unknown) and (value.reason is Reason.SENT or value.param_taint):
            return value
        return believed(value, basis, on_cpu=True, requires_grad=None if value.param_taint else False)
    return mapped(value, lambda part: _kept(part, basis))
