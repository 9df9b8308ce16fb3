"""Binds the targets of assignments: names, attributes, items and the parts of tuples."""

from __future__ import annotations

import ast

from tonumpy.engine.interpreter import containers, habit_values
from tonumpy.engine.interpreter.frame import UNREAD, Frame, place_of
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.value_facts import have_param_taint, members, truth_of
from tonumpy.text.names import path_of


def assign(frame: Frame, target: ast.expr, value: v.Value, *, is_item: bool = False) -> None:
    """Assign a value to a target."""
    if isinstance(target, ast.Name):
        frame.bind(
            target.id, frame.named(value, target.id, is_item=True) if is_item else _as_bound(frame, value, target.id)
        )
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target.elts, value, is_item=is_item)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, v.Sequence(None, frame.item(value)))
    elif isinstance(target, ast.Attribute):
        _assign_attribute(frame, target, value)
    elif isinstance(target, ast.Subscript):
        owner, index = frame.value(target.value), frame.value(target.slice)
        place = place_of(target)
        parts = [_with_part(each, index, value) for each in members(owner)]
        after = join_all(parts)
        if after is not owner and isinstance(target.value, (ast.Name, ast.Attribute, ast.Subscript)):
            assign(frame, target.value, after)
            if isinstance(target.value, ast.Name):
                frame.changed(target.value.id)
        elif place is not None and isinstance(owner, (v.Unknown, v.Instance)):
            frame.refine(place, value)


def _with_part(owner: v.Value, index: v.Value, value: v.Value) -> v.Value:
    if isinstance(owner, v.Tensor) and isinstance(value, (v.Tensor, v.Unknown)):
        if have_param_taint((value,)) and owner.requires_grad is False:
            return owner._replace(requires_grad=value.requires_grad, param_taint=True)
        return owner
    return containers.stored(owner, index, value)


def _as_bound(frame: Frame, value: v.Value, name: str) -> v.Value:
    """The value with the habits of its name: index, loader or dataset."""
    return habit_values.by_binding(frame, value, name)


def _assign_attribute(frame: Frame, target: ast.Attribute, value: v.Value) -> None:
    path = path_of(target)
    owner = frame.value(target.value)
    if target.attr in ("requires_grad", "data", "grad") and isinstance(owner, (v.Tensor, v.Instance, v.LibraryObject)):
        if target.attr == "requires_grad":
            truth = truth_of(value)
            after = owner._replace(requires_grad=truth, is_given=False) if isinstance(owner, v.Tensor) else owner
            if isinstance(target.value, (ast.Name, ast.Attribute, ast.Subscript)) and after is not owner:
                assign(frame, target.value, after)
        return
    if path is not None:
        frame.bind(path, value)


def _unpack(frame: Frame, targets: list[ast.expr], value: v.Value, *, is_item: bool) -> None:
    has_star = any(isinstance(each, ast.Starred) for each in targets)
    for place, target in enumerate(targets):
        found: v.Value = v.NOTHING
        for each in members(value):
            if isinstance(each, v.Constant):
                continue
            fields = frame.analysis.classes.fields(each) if isinstance(each, v.Instance) else None
            items = tuple(fields.values()) if fields else each.items if isinstance(each, v.Sequence) else None
            is_known = items is not None and len(items) == len(targets) and not has_star
            found = join(found, items[place] if items is not None and is_known else frame.item(each))
        assign(frame, target, UNREAD if isinstance(found, v.Nothing) and not members(value) else found, is_item=is_item)


def note_alias(frame: Frame, name: str, other: str, value: v.Value) -> None:
    """Note that two variables refer to the same mutable object."""
    if isinstance(value, (v.Sequence, v.Mapping, v.Instance, v.LibraryObject)):
        names = {name, other, *frame.aliases.get(other, ())}
        for each in names:
            frame.aliases[each] = frame.aliases.get(each, set()) | names - {each}
