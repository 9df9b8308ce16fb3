"""From a call to the new values of its receiver and arguments, if it mutates them: `items.append(x)`, `t.detach_()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import SELF, arguments_of, filled_by, handed_out
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.engine.values.aliases import with_unknown_grad
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import held_in, mapped
from tonumpy.engine.values.values import (
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Nothing,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    same,
)
from tonumpy.inference.transfer import argument_mutations, library_values, python_builtins
from tonumpy.inference.transfer.assignment import assign, change_owner, thaw, thaw_owners
from tonumpy.inference.transfer.calls import call_method
from tonumpy.text.names import path_of

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def change_receiver(
    frame: Frame, call: ast.Call, receiver: Value, path: str | None, arguments: Arguments, result: Value
) -> None:
    """What a method call does to the variable it is called on: `items.append(x)`, `t.detach_()`, `model.cuda()`."""
    assert isinstance(call.func, ast.Attribute)
    name, node = call.func.attr, call.func.value
    if name == "requires_grad_" and not same(arguments.get(0, "requires_grad"), Constant(False)):
        thaw(frame, node)
    if name == "apply" and frame.module.words.may_thaw:  # what it is given may do so to each part of a module
        thaw(frame, node)
    if path is not None and name in _REPLACES_KEYS:
        frame.env.forget_keys(path)
    if isinstance(receiver, Union):
        _change_members(frame, call, receiver, path, arguments)
    elif isinstance(receiver, (Sequence, Mapping)):
        _change_container(frame, node, receiver, path, name, arguments)
    elif isinstance(receiver, Tensor):
        _change_tensor(frame, receiver, path, name, result)
    elif isinstance(receiver, Unknown):
        _change_unknown(frame, receiver, path, name, arguments)
    elif isinstance(receiver, LibraryObject) and library_values.is_container(receiver) and path is not None:
        filled = library_values.filled(receiver, name)
        if filled is not None or changes_module_in_place(name):
            frame.change_all(path, receiver, result if filled is None else filled)
    elif isinstance(receiver, Instance):
        _change_object(frame, node, _regraded(frame, node, receiver, path, name), path, name, arguments, result)
    elif isinstance(receiver, LibraryObject):
        _change_object(frame, node, receiver, path, name, arguments, result)
    elif isinstance(receiver, Nothing) and path is not None and name in ("append", "add", "extend"):
        first = Sequence((), NOTHING)
        _store_back(frame, node, path, python_builtins.changed_container(frame, first, name, arguments) or first)


def _change_container(
    frame: Frame, node: ast.expr, receiver: Sequence | Mapping, path: str | None, name: str, arguments: Arguments
) -> None:
    changed = python_builtins.changed_container(frame, receiver, name, arguments)
    if changed is not None and path is not None:
        frame.change_all(path, receiver, changed)
    elif changed is not None:
        _store_back(frame, node, path, changed)
        _keep_others_apart(frame, node, receiver)
        frame.change_others(receiver, changed)


def _keep_others_apart(frame: Frame, node: ast.expr, changed: Sequence | Mapping) -> None:
    """What has been changed under one literal key of a dict has been stored there, and is not what stands under those
    of which nothing is known: `defaultdict(list)` makes a list for each."""
    key, holder = None, node
    if isinstance(node, ast.Subscript):
        key, holder = node.slice, node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        key, holder = node.args[0], node.func.value
    path = path_of(holder)
    held = frame.env.get(path) if path is not None and key is not None else None
    if path is None or key is None or not isinstance(held, Mapping) or held.other is not changed:
        return
    if isinstance(frame.evaluator.expression(frame, key), Constant):
        frame.env.set(path, held._replace(other=changed._replace()))


def _change_tensor(frame: Frame, receiver: Tensor, path: str | None, name: str, result: Value) -> None:
    if name.endswith("_") and not name.endswith("__") and isinstance(result, Tensor):
        # One that is read from an object may be any that has been put into one.
        origins = receiver.origins or frozenset(frame.objects.put_into)
        frame.change_grad(receiver, result._replace(origins=origins))
        if path is None or path.endswith(".data"):
            return  # each time that it is read, `.data` is another tensor
        frame.change(path, result)
        if name == "requires_grad_":
            thaw_owners(frame, path)
    elif path is not None and name == "backward":
        frame.refine(path, receiver._replace(requires_grad=True))  # or it would have raised


def _change_unknown(frame: Frame, receiver: Unknown, path: str | None, name: str, arguments: Arguments) -> None:
    if frame.objects.put_into and name.endswith("_"):
        frame.change_grad(Tensor(), Tensor(origins=frozenset(frame.objects.put_into)))
    elif path is not None and name == "backward" and not (arguments.positional or arguments.has_star):
        frame.refine(path, receiver._replace(requires_grad=True, param_taint=True))


def _change_object(
    frame: Frame,
    node: ast.expr,
    receiver: LibraryObject | Instance,
    path: str | None,
    name: str,
    arguments: Arguments,
    result: Value,
) -> None:
    changes_itself = changes_module_in_place(name)
    if path is None:
        if changes_itself:
            change_owner(frame, node)
            frame.change_others(receiver, result)
        elif isinstance(receiver, Instance) and receiver.real is not None:
            _forget_what_is_written(frame, SELF, receiver, name)
    elif isinstance(result, type(receiver)):
        if changes_itself:
            frame.change_all(path, receiver, result)
            if isinstance(receiver, Instance):
                _change_parts(frame, path, receiver, name, arguments)
    elif isinstance(receiver, Instance):
        _change_by_itself(frame, path, receiver, name)


_REPLACES_KEYS = frozenset("update clear pop popitem setdefault to cpu cuda".split())


def _change_members(frame: Frame, call: ast.Call, receiver: Union, path: str | None, arguments: Arguments) -> None:
    """Whichever of several tensors, modules and containers a name holds: `x = a if flag else b`, `x.to(device)`."""
    assert isinstance(call.func, ast.Attribute)
    method = call.func.attr
    changed: list[type] = [Tensor] if method.endswith("_") or method == "backward" else []
    if changes_module_in_place(method):
        changed += [LibraryObject, Instance]
    held = None if path is None else frame.env.get(path)
    after: list[Value] = []
    for member in receiver.members:
        left: Value | None = None
        if isinstance(member, (Sequence, Mapping)):
            left = python_builtins.changed_container(frame, member, method, arguments)
        elif isinstance(member, tuple(changed)):
            if path is not None:
                frame.env.set(path, member)
            change_receiver(frame, call, member, path, arguments, call_method(frame, member, method, arguments))
            left = None if path is None else frame.env.get(path)
        elif isinstance(member, Instance):
            grad = frame.analysis.modules.grad_left_by(member, method)
            left = None if grad is member.requires_grad else member._replace(requires_grad=grad)
        after.append(member if left is None else left)
    if path is not None:
        frame.env.set(path, held or NOTHING)
    if all(one is other for one, other in zip(after, receiver.members, strict=True)):
        return
    if path is not None:
        frame.change_all(path, receiver, join_all(after))
    else:
        _store_back(frame, call.func.value, path, join_all(after))


def _regraded(frame: Frame, node: ast.expr, module: Instance, path: str | None, method: str) -> Instance:
    """A module once a method of its class has frozen or thawed it: `net.freeze()`."""
    grad = frame.analysis.modules.grad_left_by(module, method)
    if grad is module.requires_grad:
        return module
    after = module._replace(requires_grad=grad)
    if path is None:
        change_owner(frame, node)
        frame.change_others(module, after)
    else:
        frame.change_all(path, module, after)
        _change_parts(frame, path, after, "requires_grad_", Arguments((Constant(grad is not False),)))
    return after


def _change_parts(frame: Frame, path: str, module: Instance, method: str, arguments: Arguments) -> None:
    """The parameters, buffers and layers of a module go with it: `self.to(device)`."""
    for name, value in frame.env.items():
        owner, _, attribute = name.rpartition(".")
        if owner == path and frame.analysis.modules.may_move(module, attribute, value):
            after = call_method(frame, value, method, arguments)
            # A tensor may be a parameter, or one that is only kept there.
            frame.change(name, join(value, after) if isinstance(value, Tensor) else after)
        elif owner.startswith(f"{path}."):
            frame.forget(name)


def _change_by_itself(frame: Frame, path: str, receiver: Instance, method: str) -> None:
    """What a method of an object's own class does to the object."""
    if path in frame.objects.path_roots:
        _forget_what_is_written(frame, path, receiver, method)
    moved = frame.analysis.modules.moved_by_itself(receiver, method)
    if moved is not receiver:
        frame.change_all(path, receiver, moved)


def _forget_what_is_written(frame: Frame, path: str, receiver: Instance, method: str) -> None:
    for attribute in frame.analysis.classes.written_by(receiver.cls, method):
        frame.forget(f"{path}.{attribute}")


def _store_back(frame: Frame, node: ast.expr, path: str | None, changed: Value) -> None:
    if path is not None and path_of(node) == path:
        frame.change(path, changed)
    elif isinstance(node, ast.Subscript):
        assign(frame, node, changed)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
        for key in node.args[:1]:  # `groups.setdefault(key, []).append(x)`
            assign(frame, ast.Subscript(node.func.value, key, ast.Store()), changed)


def change_arguments(frame: Frame, call: ast.Call, function: Value, arguments: Arguments) -> None:
    """What a call leaves in the tensors, lists and dicts that it is given: `collect(model, outputs)`."""
    places: list[tuple[int | str, ast.expr]] = list(enumerate(call.args))
    places += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    for place, node in places:
        if isinstance(node, _WITH_FILLERS):
            for filler in handed_out(node):
                hand_out_filler(frame, filler)
        path = path_of(node)
        before = None if path is None else frame.env.get(path)
        if path is None or before is None:
            continue
        if isinstance(function, _OF_THE_REPOSITORY):
            _change_tensors(frame, path, before, function, arguments, place)
        if isinstance(before, (Sequence, Mapping)):
            put = _put_into(frame, function, place, before, arguments)
            if put is not None:
                frame.env.forget_keys(path)
                after = join_all((before, put))
                frame.change_others(before, after, path)
                _store_back(frame, node, path, after)


def hand_out_filler(frame: Frame, node: ast.expr) -> None:
    """`run(rows.append)`, `add = rows.append`: who has the method may fill the list with anything, besides what those
    put in who call it in the module."""
    path = filled_by(node)
    if path is None or not isinstance(node, ast.Attribute):
        return
    container = frame.env.get(path)
    if isinstance(container, (Sequence, Mapping)):
        frame.env.forget_keys(path)
        inner = join(Unknown(Reason.CONTENT), frame.analysis.handed_lists.items(frame.module, node))
        after = join(container, Sequence(None, inner) if isinstance(container, Sequence) else Mapping((), inner))
        frame.change_others(container, after, path)
        frame.change(path, after)


_WITH_FILLERS = (ast.Attribute, ast.Dict, ast.List, ast.Tuple)  # in calls among them, it is done where these are made
_OF_THE_REPOSITORY = (BoundMethod, Class, Function, Instance)
_EMPTY = (Sequence((), NOTHING), Mapping((), NOTHING))


def _put_into(
    frame: Frame, function: Value, place: int | str, container: Sequence | Mapping, arguments: Arguments
) -> Value | None:
    """What a list or dict may hold besides, once it has been given to a function; None where that leaves it alone."""
    if isinstance(function, Symbol):
        filled = library_values.filled_list(function.name, place, arguments)
        if filled is not None:
            return filled
        harmless = function.name.startswith(("torch.", "builtins.", "typing."))
        may_fill = not harmless and not library_values.gives_plain_values(function.name)
    elif isinstance(function, _OF_THE_REPOSITORY):
        if not argument_mutations.may_change(frame.analysis, function, place):
            return None
        return Sequence(None, _ANYTHING) if isinstance(container, Sequence) else Mapping((), _ANYTHING)
    else:
        may_fill = isinstance(function, (Unknown, LibraryObject))
    # Why else would somebody be given an empty list?
    if not may_fill or container not in _EMPTY:
        return None
    return Sequence(None, _ANYTHING) if isinstance(container, Sequence) else Mapping((), _ANYTHING)


_ANYTHING = Unknown(Reason.CONTENT)


def _change_tensors(
    frame: Frame, path: str, value: Value, function: Value, arguments: Arguments, place: int | str
) -> None:
    """Tensors that are given, by themselves or in a list, to a function which may call `requires_grad_()` on them, or
    write to them."""
    tensors = [each for each in held_in(value) if isinstance(each, Tensor) and not is_integral(each.dtype)]
    if tensors and argument_mutations.may_change_grad(frame.analysis, function, arguments, place, frame.grad_mode):
        for tensor in tensors:
            frame.change_grad(tensor, tensor._replace(requires_grad=None))
        frame.change(path, with_unknown_grad(value))


def give_away_modules(frame: Frame, call: ast.Call, function: Value) -> None:
    """Who is given a module may move it, or thaw it: `trainer.fit(model)`, `accelerator.prepare(model)`.

    The functions of torch itself do not, but who holds a module may: `nn.Sequential(model)`.
    """
    name = function.name if isinstance(function, Symbol) else ""
    if name.startswith(("torch", "builtins", "copy.")) and not library_values.is_module([name]):
        return
    does_thaw = _does_thaw(function)
    for argument in arguments_of(call) if does_thaw else ():
        thaw(frame, argument)
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)]  # of a `**batch` only its values
    while given:
        argument = given.pop()
        if isinstance(argument, (ast.List, ast.Tuple)):
            given.extend(argument.elts)
        elif isinstance(argument, ast.Name):
            value = frame.env.get(argument.id)
            after = None if value is None else _given_away(value)
            if after is not None and after is not value:
                frame.refine(argument.id, after)


def _does_thaw(function: Value) -> bool:
    """Whether what is called is code of the repository that may thaw the modules that it is given, now or later."""
    called = function.function if isinstance(function, BoundMethod) else function
    owner = called.cls if isinstance(called, Instance) else called
    return isinstance(owner, (Function, Class)) and owner.module.words.may_thaw


def _given_away(value: Value) -> Value:
    if isinstance(value, Union):
        return mapped(value, _given_away)
    if not isinstance(value, (Instance, LibraryObject)) or (value.on_cpu, value.requires_grad) == (None, None):
        return value
    grad = None if library_values.is_module([getattr(value, "name", "")]) else value.requires_grad
    return value._replace(on_cpu=None, requires_grad=grad)
