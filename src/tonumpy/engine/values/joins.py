"""The join of two values: what is true of both, where two paths of control flow meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import join_dtype, may_lack
from tonumpy.engine.values.evidence import cut_off, joined
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    held_in,
    join_fact,
    join_facts,
    left_open,
    members,
    tensor_facts,
    weaker,
)

MAX_MEMBERS = 6
# Calls whose arguments are kept: they make a function, a class, or one row of `parametrize`.
KEPT_CALLS = frozenset(("collections.namedtuple", "functools.partial", "pytest.param"))

_PLAIN = (v.NonTensor, v.Constant)
_TOO_MANY = cut_off("kinds", f"it has more than {MAX_MEMBERS} possible types", "", 0)


def join(first: v.Value, second: v.Value) -> v.Value:
    """The join of two values: it has only the facts that both have."""
    if isinstance(first, v.Nothing):
        return second
    if v.same(first, second) or isinstance(second, v.Nothing):
        return first
    found: list[v.Value] = []
    for value in (*members(first), *members(second)):
        for index, other in enumerate(found):
            merged = _merge(other, value)
            if merged is not None:
                found[index] = merged
                break
        else:
            found.append(value)
    if len(found) == 1:
        return found[0]
    if len(found) > MAX_MEMBERS:
        facts = join_facts([tensor_facts(value) for value in found])
        return left_open(v.Unknown(Reason.TOO_MANY, *facts, evidence=joined(map(evidence_in, found))), _TOO_MANY)
    return v.Union(tuple(found))


def outlived(kept: v.Tensor, made: v.Tensor, *, is_left: bool) -> v.Tensor:
    """The value of one path, weakened by the other path's replacement: widened to a NumPy dtype, or without grad.

    `is_left`: this path did not change the value. Its parameter taint is then dropped, as where a validation loop
    replaces it under no_grad.
    """
    if _is_widened(kept.dtype, made.dtype):
        kept = kept._replace(dtype=None)  # `if x.dtype == torch.bfloat16: x = x.float()`
    is_replaced = is_left and (made.requires_grad is False or made.is_replaced)
    if not is_replaced or not (kept.param_taint or kept.requires_grad):
        return kept
    return kept._replace(param_taint=False, requires_grad=None, is_replaced=True)


def _is_widened(kept: str | None, made: str | None) -> bool:
    return may_lack(kept) and made is not None and not may_lack(made)


def join_all(values: Iterable[v.Value]) -> v.Value:
    """The join of all values; NOTHING if there are none."""
    joined: v.Value = v.NOTHING
    for value in values:
        joined = join(joined, value)
    return joined


def _merge(first: v.Value, second: v.Value) -> v.Value | None:
    """The join of two values of one class; None if they stay separate members of a union."""
    if v.same(first, second):
        return first
    if isinstance(first, _PLAIN) and isinstance(second, _PLAIN):
        return None if v.NONE in (first, second) else _wider_plain(first, second)  # None is told apart by tests
    merge = _MERGED.get(type(first)) if type(first) is type(second) else None
    return None if merge is None else merge(first, second)


def _merge_tensors(first: v.Tensor, second: v.Tensor) -> v.Tensor:
    return v.Tensor(
        join_fact(first.on_cpu, second.on_cpu),
        join_fact(first.requires_grad, second.requires_grad),
        join_dtype(first.dtype, second.dtype),
        weaker(first.certainty, second.certainty),
        first.is_number or second.is_number,
        first.layout if first.layout == second.layout else None,
        first.bit if first.bit == second.bit else None,
        first.is_item and second.is_item,
        max(first.device_taint, second.device_taint),
        all(each.is_given or (each.on_cpu is True and each.requires_grad is False) for each in (first, second)),
        first.evidence | second.evidence,
        have_param_taint((first, second)),
        first.is_replaced or second.is_replaced,
        first.dimensions if first.dimensions == second.dimensions else None,
        first.ufuncs | second.ufuncs if first.ufuncs and second.ufuncs else frozenset(),
    )


def _merge_unknown(first: v.Unknown, second: v.Unknown) -> v.Unknown:
    return v.Unknown(
        second.reason if first.reason in GIVEN else first.reason,
        join_fact(first.on_cpu, second.on_cpu),
        join_fact(first.requires_grad, second.requires_grad),
        first.is_no_tensor and second.is_no_tensor,
        first.evidence | second.evidence,
        max(first.device_taint, second.device_taint),
        have_param_taint((first, second)),
        first.is_replaced or second.is_replaced,
    )


def _merge_devices(first: v.Device, second: v.Device) -> v.Device:
    is_choice = {first.is_cpu, second.is_cpu} == {True, False}
    device_taint = v.DeviceTaint.CHOSEN if is_choice else max(first.device_taint, second.device_taint)
    kind = first.type if first.type == second.type else None
    return v.Device(join_fact(first.is_cpu, second.is_cpu), kind, device_taint)


def _merge_sequences(first: v.Sequence, second: v.Sequence) -> v.Sequence | None:
    if _are_told_apart(first, second):
        return None
    items = None
    if first.items is not None and second.items is not None and len(first.items) == len(second.items):
        items = tuple(join(one, other) for one, other in zip(first.items, second.items, strict=True))
    fields = first.fields if first.fields == second.fields else ()
    return v.Sequence(items, join(first.element, second.element), fields)


def _merge_library_objects(first: v.LibraryObject, second: v.LibraryObject) -> v.LibraryObject | None:
    if first.name != second.name or first.name in KEPT_CALLS:
        return None
    return v.LibraryObject(
        first.name,
        join_fact(first.on_cpu, second.on_cpu),
        join_fact(first.requires_grad, second.requires_grad),
        _join_made_from(first, second),
        join_dtype(first.dtype, second.dtype),
        first.evidence | second.evidence,
        _sent_on_one_path(first, second),
    )


def _merge_instances(first: v.Instance, second: v.Instance) -> v.Instance | None:
    if first.cls != second.cls:
        return None
    return v.Instance(
        first.cls,
        _join_made_from(first, second),
        join_fact(first.on_cpu, second.on_cpu),
        join_fact(first.requires_grad, second.requires_grad),
        join_dtype(first.dtype, second.dtype),
        evidence=first.evidence | second.evidence,
        is_moved=first.is_moved or second.is_moved,
        device_taint=_sent_on_one_path(first, second),
    )


def _sent_on_one_path(first: v.LibraryObject | v.Instance, second: v.LibraryObject | v.Instance) -> v.DeviceTaint:
    """The greater device taint of two objects, as `if cuda: net.cuda()` leaves it."""
    return max(first.device_taint, second.device_taint)


def join_arguments(first: v.Arguments, second: v.Arguments) -> v.Arguments:
    """The join of two argument lists of one call, which have the same shape unless a * was expanded differently."""
    if len(first.positional) != len(second.positional) or [k for k, _ in first.named] != [k for k, _ in second.named]:
        return v.Arguments((), (), has_star=True, hides_names=True)
    positional = tuple(join(one, other) for one, other in zip(first.positional, second.positional, strict=True))
    named = tuple((name, join(one, other)) for (name, one), (_, other) in zip(first.named, second.named, strict=True))
    has_star = first.has_star or second.has_star
    hides_names = first.hides_names or second.hides_names
    return v.Arguments(positional, named, has_star, join(first.starred, second.starred), hides_names)


def _join_made_from(first: v.LibraryObject | v.Instance, second: v.LibraryObject | v.Instance) -> v.Arguments | None:
    """The joined constructor arguments of two objects of a class; None for an object that a loop wraps in its own class
    again and again."""
    if first.arguments is None or second.arguments is None:
        return None
    if first.arguments == second.arguments:
        return first.arguments
    joined = join_arguments(first.arguments, second.arguments)
    return None if joined.has_star or _is_made_of_its_like(first, joined) else joined


def _is_made_of_its_like(value: v.LibraryObject | v.Instance, arguments: v.Arguments) -> bool:
    """True if an object of the same class is among the constructor arguments, at any depth."""
    waiting = list(arguments.values())
    while waiting:
        for each in held_in(waiting.pop()):
            if isinstance(each, v.LibraryObject) and isinstance(value, v.LibraryObject) and each.name == value.name:
                return True
            if isinstance(each, v.Instance):
                if isinstance(value, v.Instance) and each.cls == value.cls:
                    return True
                waiting.extend(() if each.arguments is None else each.arguments.values())
    return False


def _are_told_apart(first: v.Sequence, second: v.Sequence) -> bool:
    """True if a boolean at the same index tells two tuples apart: `return torch.from_numpy(x), True`, `return x,
    False`."""
    return any(
        {one, other} == {v.Constant(True), v.Constant(False)}
        for one, other in zip(first.items or (), second.items or (), strict=False)
        if isinstance(one, v.Constant) and isinstance(other, v.Constant)
    )


def _wider_plain(first: v.NonTensor | v.Constant, second: v.NonTensor | v.Constant) -> v.Value | None:
    if v.is_number(first) and v.is_number(second):
        return v.NonTensor("number")
    if isinstance(first, v.Constant) and isinstance(second, v.Constant):
        return None if type(first.value) is type(second.value) is str else v.NonTensor("constant")
    if not isinstance(first, v.NonTensor):
        return v.NonTensor("constant")
    if first.dimensions is None or not isinstance(second, v.NonTensor) or second.dimensions is None:
        return v.NonTensor(first.what)
    return v.NonTensor(first.what, min(first.dimensions, second.dimensions))


def _join_mappings(first: v.Mapping, second: v.Mapping) -> v.Mapping:
    one, other = dict(first.entries), dict(second.entries)
    entries = [
        (key, value if key in other and other[key] is value else join(value, other.get(key, second.other)))
        for key, value in one.items()
    ]
    entries += [(key, join(first.other, value)) for key, value in other.items() if key not in one]
    return v.Mapping(tuple(entries), join(first.other, second.other))


def updated(first: v.Mapping, second: v.Value) -> v.Mapping:
    """The dict `first` after `first.update(second)`."""
    if not isinstance(second, v.Mapping):
        second = v.Mapping((), v.Unknown(Reason.CONTENT))
    entries = {key: join(value, second.other) for key, value in first.entries}
    return v.Mapping((*{**entries, **dict(second.entries)}.items(),), join(first.other, second.other))


def under_a_key(value: v.Value) -> v.Value:
    """The value under any key of a dict that is filled under unknown keys: unknown if both tensors and other values are
    in it."""
    if isinstance(value, v.Sequence):
        element = under_a_key(value.element)
        return value if element is value.element else v.Sequence(None, element)
    kinds = set(map(type, members(value)))
    is_mixed = v.Tensor in kinds and not kinds.isdisjoint((v.NonTensor, v.Constant)) and v.NONE not in members(value)
    return v.Unknown(Reason.CONTENT) if is_mixed else value


def item_handed_on(items: v.Value) -> v.Value:
    """One item of an iterable, as `map` passes it on."""
    if isinstance(items, v.Union):
        return join_all(item_handed_on(member) for member in items.members if member != v.NONE)
    if isinstance(items, v.Sequence):
        return items.element
    return v.NonTensor("key") if isinstance(items, v.Mapping) else items


def sequence_of(items: list[v.Value] | tuple[v.Value, ...]) -> v.Sequence:
    return v.Sequence(tuple(items), join_all(items))


_MERGED: dict[type, Callable[[Any, Any], v.Value | None]] = {
    v.Tensor: _merge_tensors,
    v.Unknown: _merge_unknown,
    v.Device: _merge_devices,
    v.Sequence: _merge_sequences,
    v.Mapping: _join_mappings,
    v.LibraryObject: _merge_library_objects,
    v.Instance: _merge_instances,
}
