"""Evaluates functions, classes, methods and attributes of libraries by the rows of knowledge/libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tonumpy.engine.interpreter.devices import as_tensor, may_move_modules, moved_module
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.promises import device_of, grad_of, keep
from tonumpy.engine.knowledge.libraries.rows import (
    attribute_promise,
    canonical,
    is_called_dataset,
    is_module,
    load,
    member_promise,
    promise_of,
)
from tonumpy.engine.knowledge.operands import result_facts
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import may_lack
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    dtype_of,
    tensor_facts,
)
from tonumpy.facts import Fact

CONTAINERS = frozenset(
    f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
)


def call_function(frame: Frame, name: str, arguments: v.Arguments) -> v.Value | None:
    """The result of a library's function or class method by its row; None if there is none."""
    promise = promise_of(name, arguments)
    if promise is not None:
        return keep(frame, promise, None, arguments)
    owner, _, method = name.rpartition(".")
    if owner.rpartition(".")[2][:1].isupper():
        promise = member_promise([owner], method, arguments)
        if promise is not None and promise.returns == ("instance",):
            cpu, grad = device_of(promise, None, arguments), grad_of(promise, None, arguments, frame.mode)
            return v.LibraryObject(canonical(owner), cpu, grad, dtype=_dtype_asked(arguments))
    return None


def _dtype_asked(arguments: v.Arguments) -> str | None:
    return dtype_of(arguments.named_value("dtype") or arguments.named_value("torch_dtype"))


def construct(frame: Frame, name: str, arguments: v.Arguments) -> v.Value:
    """The object that a library's class constructs."""
    name = canonical(name)
    known = None if arguments.has_star else arguments
    promise = member_promise([name], "__init__", arguments)
    if promise is None or (name in CONTAINERS and not arguments.positional and not arguments.has_star):
        return v.LibraryObject(name, None, None, known)
    if name in CONTAINERS and arguments.has_star:
        arguments = v.Arguments((*arguments.positional, arguments.starred))
        known = arguments
    cpu, grad = device_of(promise, None, arguments), grad_of(promise, None, arguments, True)
    if cpu and is_module([name]) and may_move_modules(frame):
        cpu = None
    taint = max((_taint_of(each) for each in arguments.values()), default=v.DeviceTaint.NONE)
    return v.LibraryObject(name, cpu, grad, known, _dtype_asked(arguments), device_taint=taint)


def _taint_of(value: v.Value) -> v.DeviceTaint:
    held = value.items or (value.element,) if isinstance(value, v.Sequence) else (value,)
    return max(
        (each.device_taint for each in held if isinstance(each, (v.Instance, v.LibraryObject))),
        default=v.DeviceTaint(0),
    )


def call_object(frame: Frame, owner: v.LibraryObject, name: str, arguments: v.Arguments) -> v.Value:
    """The result of `owner.name(...)` for an object of a library's class."""
    own = frame.analysis.own_promises.call_of_library(frame, f"{owner.name}.{name}", owner, arguments)
    if own is not None:
        return own
    given = arguments
    if owner.arguments is None:
        given = arguments._replace(has_star=True, hides_names=True)
    elif owner.arguments.named:
        given = arguments._replace(named=(*arguments.named, *owner.arguments.named))
    promise = member_promise([owner.name], name, given)
    if promise is not None and promise.returns == ("self",):
        return moved_module(frame, owner, name, arguments)
    if promise is None and name == "numpy":
        return v.NonTensor("numpy")
    if promise is None:
        made = _without_promise(frame, owner, name, arguments)
    else:
        made = keep(frame, promise, owner, arguments)
    if name in ("__call__", "forward") and may_lack(owner.dtype) and isinstance(made, v.Unknown):
        return as_tensor(made)._replace(dtype=owner.dtype)
    return made


def _without_promise(frame: Frame, owner: v.LibraryObject, name: str, arguments: v.Arguments) -> v.Value:
    is_frozen = owner.requires_grad is False and is_module([owner.name])
    is_frozen = is_frozen and result_facts(arguments.values(), True)[1] is False
    made = v.Unknown(Reason.METHOD, None, False if frame.mode is False or is_frozen else None)
    is_call = name in ("__call__", "forward") and owner.name == "torch.nn.Module"
    return made._replace(param_taint=is_call and made.requires_grad is None)


def attribute(frame: Frame, owner: v.LibraryObject, name: str) -> v.Value:
    """The value of `owner.name` that is not called."""
    promise = attribute_promise([owner.name], name)
    if promise is not None:
        return keep(frame, promise._replace(grad="own") if promise.grad == "self" else promise, owner, v.Arguments(()))
    facts = tensor_facts(owner)
    cpu = True if facts == (True, False) and not owner.name.startswith("torch.") else None
    held = v.Unknown(Reason.of_attribute(name), cpu, facts[1], evidence=owner.evidence, device_taint=owner.device_taint)
    return frame.named(held, name)


def item(frame: Frame, owner: v.LibraryObject, index: v.Value | None = None) -> v.Value:
    """The item from iterating over a library's object, or from subscripting it."""
    promise = member_promise([owner.name], "__iter__", v.Arguments(()))
    if promise is not None:
        return keep(frame, promise, owner, v.Arguments(() if index is None else (index,)))
    unknown = v.Unknown(Reason.ITEM, owner.on_cpu, owner.requires_grad, evidence=owner.evidence)
    return frame.as_data(unknown) if is_called_dataset(owner.name.rpartition(".")[2]) else unknown


def call_inherited(frame: Frame, owner: v.Instance, bases: list[str], name: str, arguments: v.Arguments) -> v.Value:
    """The result of `owner.name(...)` that no class of the repository defines, but a library's base class may."""
    promise = member_promise(bases, name, arguments)
    if promise is None:
        grad: Fact = False if frame.mode is False else None
        reason = Reason.CALL if name == "__call__" else Reason.LIBRARY
        learns = grad is None and name in ("__call__", "forward") and is_module(bases)
        return v.Unknown(reason, None, grad, param_taint=learns)
    if promise.returns == ("self",):
        return moved_module(frame, owner, name, arguments)
    return keep(frame, promise, owner, arguments)


def known_by_term(frame: Frame, owner: v.Unknown, term: str) -> v.LibraryObject | None:
    """The library object that an attribute (`.boxes`) or key (`[boxes]`) of an unknown owner holds, by a row of an
    imported library."""
    for root in frame.module.frameworks.roots:
        name = load(root).terms.get(term)
        if name is not None:
            facts = owner.on_cpu, owner.requires_grad
            return v.LibraryObject(name, *facts, evidence=owner.evidence, device_taint=owner.device_taint)
    return None


def hook_parameters(function: v.Function, bases: Iterable[str]) -> dict[str, v.Value]:
    """The parameters of a method whose values a library passes, by name."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return {}
    names = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    found: dict[str, v.Value] = {}
    for base in bases:
        for position, promise in load(base.partition(".")[0]).hooks.get(f"{base}.{node.name}", ()):
            if position < len(names):
                grad: Fact = False if promise.grad == "never" else None
                taint = v.DeviceTaint.CHOSEN if promise.device == "chosen" else v.DeviceTaint.NONE
                cpu = True if promise.device == "cpu" else None
                found[names[position]] = v.Unknown(Reason.PARAMETER, cpu, grad, device_taint=taint)
    return found
