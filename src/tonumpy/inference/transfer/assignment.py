"""Transfer functions of assignments: from a target and a value to the new state of the frame."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.library_objects import makes_its_items
from tonumpy.engine.knowledge.operands import are_given
from tonumpy.engine.names.bindings import decorator_names, element_path, key_path, names_in, root_name
from tonumpy.engine.values.aliases import loosened, with_origin, with_unknown_grad
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.evidence import only, without
from tonumpy.engine.values.joins import join, join_all, updated
from tonumpy.engine.values.reasons import ITEMS, KEPT, Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    members,
    resting_on,
    tensor_facts,
    truth_of,
    with_facts,
)
from tonumpy.engine.values.values import (
    NOTHING,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    same,
)
from tonumpy.engine.values.widening import is_full, with_entry
from tonumpy.inference.habits import flag_of_several
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.arithmetic import operand_of, operate
from tonumpy.inference.transfer.habit_heuristics import apply_index_habits, apply_name_habits
from tonumpy.inference.transfer.members import item_of, resolve
from tonumpy.inference.transfer.torch_operators import with_grad_set
from tonumpy.text.names import path_of

if TYPE_CHECKING:
    from tonumpy.engine.values.values import Function
    from tonumpy.inference.transfer.frame import Frame


def assign(frame: Frame, target: ast.expr, value: Value, *, is_item: bool = False) -> None:
    """Give a target its value; `is_item`: one of those that a loop goes through."""
    value = resolve(frame, value)
    if isinstance(target, ast.Name):
        taken = value.element if isinstance(value, Sequence) else value
        if is_item or (isinstance(taken, Unknown) and taken.reason in ITEMS):
            value = apply_name_habits(value, target.id, frame, is_item=True)
        elif isinstance(taken, Unknown) and taken.reason in KEPT:
            value = apply_name_habits(value, target.id, frame)
        elif isinstance(value, (Unknown, Union)):
            value = apply_index_habits(value, target.id, frame)
        frame.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        value = _as_assumed(frame, value, target.elts)
        for part, item in zip(target.elts, unpack(frame, value, target.elts), strict=True):
            if isinstance(part, ast.Name):
                item = apply_name_habits(item, part.id, frame, is_item=is_item)
            assign(frame, part.value if isinstance(part, ast.Starred) else part, item, is_item=is_item)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(frame, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(frame, target, value)


def assign_in_comprehension(frame: Frame, target: ast.expr, value: Value) -> None:
    """A comprehension's variables live in its own layer and are no variables of the function."""
    value = resolve(frame, value)
    if isinstance(target, ast.Name):
        frame.env.set(target.id, apply_name_habits(value, target.id, frame, is_item=True))
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, item in zip(target.elts, unpack(frame, value, target.elts), strict=True):
            assign_in_comprehension(frame, part.value if isinstance(part, ast.Starred) else part, item)


def _as_assumed(frame: Frame, value: Value, targets: list[ast.expr]) -> Value:
    """Of several tuples, those whose flags are what they are taken to be: `x, is_numpy = to_torch(x)`."""
    flags = [
        (index, Constant(not frame.asked.assumed[target.id]))
        for index, target in enumerate(targets)
        if isinstance(target, ast.Name) and target.id in frame.asked.assumed
    ]
    if not flags or not isinstance(value, Union):
        return value
    kept = [
        member
        for member in value.members
        if not isinstance(member, Sequence)
        or not any(same(item, flag) for index, flag in flags for item in (member.items or ())[index : index + 1])
    ]
    if not kept:
        return value
    of_several = [target for index, _ in flags if frame.flow.times_bound[(target := targets[index].id)] > 1]  # type: ignore[attr-defined]
    if not of_several:
        return join_all(kept)
    basis = flag_of_several.basis(of_several[0], frame)
    return value if basis is None else resting_on(join_all(kept), basis.about("device", "grad"))


def unpack(frame: Frame, value: Value, targets: list[ast.expr]) -> list[Value]:
    """What each of the targets gets when the value is unpacked onto them."""
    if isinstance(value, Union):
        parts = [unpack(frame, member, targets) for member in value.members if not isinstance(member, Constant)]
        return [join_all(values) for values in zip(*parts, strict=True)] if parts else [NOTHING] * len(targets)
    if isinstance(value, Instance):
        value = frame.analysis.kinds.named_tuple_fields(value) or value
    stars = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if isinstance(value, Sequence) and value.items is not None:
        items = list(value.items)
        if not stars and len(items) == len(targets):
            return items
        if len(stars) == 1 and len(items) >= len(targets) - 1:
            first, rest = stars[0], len(targets) - stars[0] - 1
            middle = items[first : len(items) - rest]
            return [*items[:first], Sequence(tuple(middle), join_all(middle)), *items[len(items) - rest :]]
        if items:
            return [Unknown(Reason.ITEM)] * len(targets)  # it raises, or is not what it seems
    item = item_of(frame, value)
    if isinstance(value, Unknown) and value.reason is Reason.LOSS and isinstance(item, Unknown) and not stars:
        # `loss, accuracy = criterion(guess, y)`: what comes after the loss is told beside it.
        return [item, *(item._replace(param_taint=False) for _ in targets[1:])]
    return [Sequence(None, item) if index in stars else item for index in range(len(targets))]


def _assign_attribute(frame: Frame, target: ast.Attribute, value: Value) -> None:
    path = path_of(target)
    if path is None:
        if target.attr == "requires_grad":
            change_owner(frame, target)
            known = resolve(frame, frame.evaluator.expression(frame, target.value))
            if isinstance(known, Tensor):
                frame.change_grad(known, with_grad_set(known, truth_of(value)))
            if not same(value, Constant(False)):
                thaw(frame, target.value)
        return
    owner, _, name = path.rpartition(".")
    if name == "requires_grad":
        _set_requires_grad(frame, target.value, owner, value)
        return
    if name in ("data", "grad"):
        known = resolve(frame, frame.evaluator.expression(frame, target.value))
        if isinstance(known, Tensor):
            if name == "data":  # the tensor is still the same, and requires grad as before
                dtype = value.dtype if isinstance(value, Tensor) else None
                evidence = without(known.evidence, "device") | only(evidence_in(value), "device")
                frame.change(owner, known._replace(on_cpu=tensor_facts(value)[0], dtype=dtype, evidence=evidence))
            return
    if _may_train(frame, value):
        thaw_owners(frame, path)
    holder = frame.env.get(owner)
    if _is_set_by_library(frame, target, holder, value):
        frame.forget(path)
        return
    if isinstance(holder, Instance):
        if _is_property(frame.analysis.classes.method(holder.cls, name)):
            frame.forget(path)  # what its setter makes of the value is what its class says
            return
        value = frame.analysis.modules.kept(holder, value)
        if holder.cls == frame.owner and frame.analysis.classes.is_written_within(holder.cls, name):
            value = join(value, frame.analysis.attributes.attribute(holder, name))
    frame.bind(path, value)
    for member in members(frame.env.get(path) or value):
        if isinstance(member, Tensor):
            frame.objects.put_into |= member.origins
    if isinstance(holder, Instance) and holder.cls != frame.owner:
        frame.refine(owner, holder._replace(written=holder.written | {name}))


def _is_set_by_library(frame: Frame, target: ast.Attribute, holder: Value | None, value: Value) -> bool:
    """Whether a class out of sight may make something else of what its attribute is set to: GPyTorch's make a parameter
    of it (`kernel.lengthscale = 1.0`). Torch's own modules keep it, and what is no module does so with a tensor."""
    holders = members(holder or resolve(frame, frame.evaluator.expression(frame, target.value)))
    others = [each for each in holders if isinstance(each, LibraryObject) and not each.name.startswith("torch.")]
    if isinstance(value, Constant) and type(value.value) in (int, float):
        return bool(others) or any(isinstance(each, Unknown) for each in holders)
    return library_values.is_module([each.name for each in others])


def _set_requires_grad(frame: Frame, node: ast.expr, owner: str, value: Value) -> None:
    known = resolve(frame, frame.evaluator.expression(frame, node))
    if isinstance(known, (Instance, LibraryObject)):
        return  # to a module an attribute like any other: its parameters stay as they are
    truth = truth_of(value)
    after = with_unknown_grad(known) if truth is None else with_facts(known, requires_grad=truth)
    if isinstance(known, Tensor):
        after = with_grad_set(known, truth)
        frame.change_grad(known, after)
    frame.change(owner, after)
    thaw_owners(frame, owner)


def thaw_owners(frame: Frame, path: str) -> None:
    """A frozen module is no longer known to be so when one of its parameters has been set by itself."""
    owner, dot, _ = path.rpartition(".")
    while dot:
        _thaw(frame, owner)
        owner, dot, _ = owner.rpartition(".")


def thaw(frame: Frame, part: ast.expr) -> None:
    """Nor is one that is read where something requires grad from there on: `list(net.parameters())[-1]`."""
    for name in names_in(part):
        _thaw(frame, name)


def _thaw(frame: Frame, name: str) -> None:
    value = frame.env.get(name)
    if isinstance(value, (LibraryObject, Instance)) and value.requires_grad is False:
        frame.change_all(name, value, value._replace(requires_grad=None))


def _may_train(frame: Frame, value: Value) -> bool:
    """Whether it is a module that is not known to be frozen, or a parameter."""
    if isinstance(value, LibraryObject):
        return value.requires_grad is not False and library_values.is_module([value.name])
    if isinstance(value, Instance):
        return value.requires_grad is not False and frame.analysis.kinds.is_module(value.cls)
    return isinstance(value, Tensor) and value.requires_grad is not False


def change_owner(frame: Frame, part: ast.expr) -> None:
    """A part of a module has been moved, frozen or thawed by itself: `net[-1].requires_grad_()`."""
    owner = root_name(part)
    value = None if owner is None else frame.env.get(owner)
    if owner is not None and isinstance(value, (LibraryObject, Sequence, Mapping)):
        frame.change(owner, loosened(value))


def _assign_item(frame: Frame, target: ast.Subscript, value: Value) -> None:
    """`container[key] = value`: a dict or list gains a value, a tensor is written in place."""
    inner: ast.expr = target
    keys: list[ast.expr] = []
    while isinstance(inner, ast.Subscript) or _is_setdefault(inner):
        if isinstance(inner, ast.Subscript):
            keys.append(inner.slice)
            inner = inner.value
        else:
            assert isinstance(inner, ast.Call)
            assert isinstance(inner.func, ast.Attribute)
            keys.append(inner.args[0])
            inner = inner.func.value
    path = path_of(inner)
    if path is None:
        return
    if _may_train(frame, value):
        thaw_owners(frame, path)
    nested = len(keys) > 1
    element = None if nested else element_path(path, target.slice)
    if element is not None and frame.env.get(element) is not None:
        frame.bind(element, value)  # the loop over the container's keys takes it from there
        return
    container = frame.evaluator.expression(frame, inner)
    if isinstance(target.slice, ast.Slice) and isinstance(container, Sequence):
        value = item_of(frame, value)
    place = None if nested else key_path(path, target.slice)
    value = with_origin(value, place or f"{path}[]")
    after = _stored_at(container, [frame.evaluator.expression(frame, key) for key in reversed(keys)], value, frame)
    if place is None or is_full(after) or library_values.is_container(container) or _makes_its_items(container):
        frame.env.forget_keys(path)
    else:
        frame.bind(place, value)
    if isinstance(container, Tensor) and isinstance(after, Tensor):
        frame.change_grad(container, after)
        frame.bind(path, after)
    else:
        frame.change_all(path, container, after)


def _is_setdefault(node: ast.expr) -> bool:
    """`groups.setdefault(key, {})`, which is what stands under the key."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_method and node.func.attr == "setdefault" and bool(node.args)  # type: ignore[attr-defined]


def _makes_its_items(container: Value) -> bool:
    if not isinstance(container, (NonTensor, Union)):
        return False  # as most
    return any(isinstance(each, NonTensor) and makes_its_items(each.what) for each in members(container))


def _stored_at(container: Value, keys: list[Value], value: Value, frame: Frame) -> Value:
    """What a container is after `container[a][b] = value`: the one under `a` has been changed and is still there."""
    if len(keys) == 1 or not isinstance(container, (Sequence, Mapping, Union)):
        return stored(container, keys[0], value, frame)
    if isinstance(container, Union):
        return join_all(_stored_at(member, keys, value, frame) for member in container.members)
    key, *rest = keys
    if isinstance(container, Sequence):
        inner = container.element
    else:
        inner = container.get(key.value) if isinstance(key, Constant) else join_all(container.values())
    if isinstance(inner, Nothing):
        inner = Mapping(())  # of a defaultdict
    return stored(container, key, _stored_at(inner, rest, value, frame), frame)


def stored(container: Value, key: Value, value: Value, frame: Frame) -> Value:
    """What a container is after a value has been stored in it."""
    if isinstance(container, Union):
        return join_all(stored(member, key, value, frame) for member in container.members)
    if isinstance(container, Mapping):
        if isinstance(key, Constant):
            return with_entry(container, key.value, value)
        # The key may be one of those that are known.
        entries = tuple((name, join(entry, value)) for name, entry in container.entries)
        return Mapping(entries, join(container.other, value))
    if isinstance(container, Sequence):
        return Sequence(None, join(container.element, value))
    if isinstance(container, Tensor):
        return written(container, value, frame)
    if isinstance(container, LibraryObject) and library_values.is_container(container):
        return library_values.filled(container, "__setitem__") or container
    if isinstance(container, Unknown):
        cpu, grad = tensor_facts(value)
        keeps_grad = container.requires_grad is False and grad is False
        return Unknown(
            container.reason,
            container.on_cpu if cpu is container.on_cpu else None,
            False if keeps_grad else None,
            evidence=container.evidence | evidence_in(value),
            device_taint=container.device_taint,
            param_taint=container.param_taint,
        )
    return container


def written(tensor: Tensor, value: Value, frame: Frame) -> Tensor:
    """A tensor after `tensor[...] = value`: it stays where it is, but takes part in the value's graph."""
    grad = tensor_facts(value)[1]
    if frame.grad_mode is False or isinstance(value, (Constant, Symbol)) or is_integral(tensor.dtype):
        return tensor
    evidence = tensor.evidence | only(evidence_in(value), "grad")
    if grad is False:
        return tensor._replace(evidence=evidence)
    is_sure = grad and tensor.dtype is None
    return tensor._replace(
        requires_grad=True if is_sure else tensor.requires_grad or None,
        is_given=are_given((tensor, value)),
        evidence=evidence,
        param_taint=have_param_taint((tensor, value)),
    )


def augment(frame: Frame, statement: ast.AugAssign) -> None:
    """Evaluate `target += value`."""
    target = statement.target
    value = operand_of(frame, statement.value)
    if isinstance(target, ast.Subscript):
        _assign_item(frame, target, value)
        return
    before = resolve(frame, frame.evaluator.expression(frame, target))
    if isinstance(before, Sequence) and isinstance(value, (Sequence, Unknown)):
        after = Sequence(None, join(before.element, item_of(frame, value)))
        frame.change_others(before, after, path_of(target))
        assign(frame, target, after)
        return
    if isinstance(before, Mapping):
        changed = updated(before, value)
        if (path := path_of(target)) is not None:
            frame.env.forget_keys(path)
            frame.change_all(path, before, changed)
        return
    parts = []
    for member in members(before):
        if isinstance(member, Tensor):
            # In place: the device and dtype stay, the grad comes from both sides.
            result = operate(statement.op, (member, value), frame.grad_mode)
            grad = result.requires_grad if isinstance(result, Tensor) else None
            if frame.grad_mode is not True and grad is not member.requires_grad:
                grad = member.requires_grad if frame.grad_mode is False else None
            grad = False if is_integral(member.dtype) else grad
            is_given = isinstance(result, Tensor) and result.is_given
            evidence = member.evidence if grad is None else member.evidence | only(evidence_in(result), "grad")
            param_taint = have_param_taint((member, result))
            written_to = member._replace(
                requires_grad=grad, is_given=is_given, evidence=evidence, param_taint=param_taint
            )
            frame.change_grad(member, written_to)
            parts.append(written_to if not _may_replace(value) else result)
        else:
            parts.append(operate(statement.op, (member, value), frame.grad_mode))
    assign(frame, target, join_all(parts))


def _may_replace(value: Value) -> bool:
    return isinstance(value, Instance)


def _is_property(method: Function | None) -> bool:
    return method is not None and "property" in decorator_names(method.node)
