"""From a library's function, class, attribute or item to its value, by the rows of knowledge/libraries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.libraries.rows import (
    attribute_promise,
    bases_of,
    canonical,
    gives_plain_values,
    is_called_dataset,
    is_dataset,
    is_module,
    is_operator,
    load,
    member_promise,
    promise_of,
)
from tonumpy.engine.knowledge.operands import result_facts
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.engine.values.dtypes import choice_of, may_lack
from tonumpy.engine.values.evidence import joined
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import dtype_of, evidence_in, mapped
from tonumpy.engine.values.values import (
    Arguments,
    DeviceTaint,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Method,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.devices import as_tensor
from tonumpy.inference.transfer.habit_heuristics import item_of_dataset
from tonumpy.inference.transfer.module_containers import CONTAINERS, filled, is_container
from tonumpy.inference.transfer.moved_modules import moved
from tonumpy.inference.transfer.promise_calls import device_of, grad_of, keep
from tonumpy.inference.transfer.torch_operators import on_default_device

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.values.values import Class
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.transfer.frame import Frame

__all__ = [
    "attribute",
    "call_function",
    "call_inherited",
    "call_object",
    "canonical",
    "construct",
    "filled",
    "filled_list",
    "gives_plain_values",
    "grad_left_by_inherited",
    "hook_parameters",
    "inherited_attribute",
    "is_called_dataset",
    "is_container",
    "is_dataset",
    "is_module",
    "is_operator",
    "item",
    "known_by_term",
    "object_of_bases",
    "runs_without_grad",
]


def call_function(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """What a library function, or a class method of a library's class, returns if a row says so."""
    promise = promise_of(name, arguments)
    if promise is not None:
        return keep(frame, promise, None, arguments)
    owner, _, method = name.rpartition(".")
    if owner.rpartition(".")[2][:1].isupper():
        promise = member_promise([owner], method, arguments)
        if promise is not None and promise.returns == ("instance",):
            cpu = device_of(promise, None, arguments)
            grad = grad_of(promise, None, arguments, frame.grad_mode)
            return LibraryObject(canonical(owner), cpu, grad, dtype=_dtype_asked_for(arguments))
    return None


def filled_list(name: str, place: int | str, arguments: Arguments) -> Value | None:
    """The list that a library function is given at this place, as it leaves it; None where it leaves it alone."""
    name = canonical(name)
    row = load(name.partition(".")[0]).fills.get(name)
    if row is None or place not in row[0]:
        return None
    item = arguments.get(*row[1])
    return None if item is None else Sequence(None, item)


def _dtype_asked_for(arguments: Arguments) -> str | None:
    """The dtype that an object's tensors are made with: `dtype=`, or `torch_dtype=` as transformers called it first."""
    asked = arguments.named_value("dtype") or arguments.named_value("torch_dtype")
    return None if asked is None else dtype_of(asked)


def construct(name: str, arguments: Arguments, default_on_cpu: Fact) -> Value:
    """An object of a library class, with the facts that its row derives from the arguments."""
    name = canonical(name)
    promise = member_promise([name], "__init__", arguments)
    known = None if arguments.has_star and name not in CONTAINERS else arguments
    if promise is None:
        return LibraryObject(name, None, None, known)
    if name in CONTAINERS:
        if not arguments.positional and not arguments.has_star:
            return LibraryObject(name, None, None, known)  # it may be filled anywhere
        if arguments.has_star:
            arguments = Arguments((*arguments.positional, arguments.starred))
    placed = on_default_device(arguments, default_on_cpu) if promise.device == "argument" else arguments
    cpu = device_of(promise, None, placed)
    grad = grad_of(promise, None, arguments, True)  # what it holds is as it was given, under no_grad too
    evidence = joined(map(evidence_in, arguments.values()))
    return LibraryObject(name, cpu, grad, known, _dtype_asked_for(arguments), evidence)


def call_object(frame: Frame, owner: LibraryObject, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` for an object of a library class."""
    promise = member_promise([owner.name], name, _as_constructed(owner, arguments))
    if promise is not None and promise.returns == ("self",):
        return moved(owner, name, arguments)
    if promise is not None:
        return _made_by_cast(owner, name, keep(frame, promise, owner, arguments))
    if name == "numpy":
        return NonTensor("numpy")
    has_no_grad = frame.grad_mode is False or _is_frozen(owner, arguments)
    made = Unknown(Reason.METHOD, None, False if has_no_grad else None)
    # A part of the module that is called with what was cast like it: `net.encoder(x.to(dtype))`.
    is_part = any(isinstance(each, Tensor) and each.dtype == owner.dtype for each in arguments.positional)
    return _made_by_cast(owner, "__call__" if is_part else name, made)


def _made_by_cast(owner: LibraryObject, name: str, made: Value) -> Value:
    """What a module makes that was cast as a whole to what NumPy lacks: a tensor of that dtype, most often."""
    if name in ("__call__", "forward") and may_lack(owner.dtype) and isinstance(made, Unknown):
        return as_tensor(made)._replace(dtype=owner.dtype)
    return made


def _is_frozen(owner: LibraryObject, arguments: Arguments) -> bool:
    """Whether a module, and so its parts (`net.encoder(x)`), has nothing that requires grad, nor is given such."""
    if owner.requires_grad is not False or arguments.has_star or not is_module([owner.name]):
        return False
    return result_facts(arguments.values(), True)[1] is False


def _as_constructed(owner: LibraryObject, arguments: Arguments) -> Arguments:
    """The arguments of a call with those that its object was made with: `return_indices=True` decides what it gives."""
    made = owner.arguments
    if made is None:
        return arguments._replace(has_star=True, hides_names=True)
    return arguments._replace(named=(*arguments.named, *made.named))


def call_inherited(frame: Frame, owner: Instance, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` where the class of the repository does not define it but extends a library's class."""
    bases = frame.analysis.classes.library_bases(owner.cls)
    promise = member_promise(bases, name, arguments)
    grad: Fact = False if frame.grad_mode is False else None
    if promise is None:
        return Unknown(Reason.CALL if name == "__call__" else Reason.LIBRARY, None, grad)
    if promise.returns == ("self",):
        return moved(owner, name, arguments)
    if owner.on_cpu is True and (owner.is_moved or frame.analysis.modules.may_have_moved_parts(owner.cls)):
        owner = owner._replace(on_cpu=None)  # `state_dict()` and `parameters()` hold those of all parts
    made = keep(frame, promise, owner, arguments)
    if owner.dtype is not None or name not in _OF_PARTS:
        return made
    dtypes = frame.analysis.modules.dtypes_registered(owner, name)
    return _of_dtypes(made, dtypes) if dtypes else made


_OF_PARTS = frozenset("state_dict buffers named_buffers parameters named_parameters".split())


def _of_dtypes(made: Value, dtypes: dict[str, str | None]) -> Value:
    """What a module gives of all that it has registered: under each name that of its dtype."""
    if isinstance(made, Mapping) and isinstance(made.other, Tensor):
        return Mapping(tuple((name, made.other._replace(dtype=dtype)) for name, dtype in dtypes.items()), made.other)
    if isinstance(made, Tensor):
        return made._replace(dtype=choice_of((*dtypes.values(), None)))
    return mapped(made, lambda part: _of_dtypes(part, dtypes))


def grad_left_by_inherited(bases: list[str], module: Instance, name: str) -> Fact:
    """Whether the parameters of a module may require grad once a method that it inherits has been called on it."""
    promise = None if changes_module_in_place(name) else member_promise(bases, name, Arguments(()))
    is_itself = promise is not None and promise.returns == ("self",)
    return moved(module, name, Arguments(())).requires_grad if is_itself else module.requires_grad


def attribute(frame: Frame, owner: LibraryObject, name: str) -> Value:
    """`owner.name` where it is not called."""
    promise = attribute_promise([owner.name], name)
    if promise is None:
        return Method(owner, name)
    # What is held is as it was made, under no_grad too.
    return keep(frame, promise._replace(grad="own") if promise.grad == "self" else promise, owner, Arguments(()))


def item(frame: Frame, owner: LibraryObject, index: Value | None = None) -> Value:
    """What iterating over a library object, or subscripting it, gives."""
    promise = member_promise([owner.name], "__iter__", Arguments(()))
    if promise is None:
        unknown = Unknown(Reason.ITEM, owner.on_cpu, owner.requires_grad, evidence=owner.evidence)
        return item_of_dataset(unknown, frame) if is_called_dataset(owner.name.rpartition(".")[2]) else unknown
    return keep(frame, promise, owner, Arguments(() if index is None else (index,)))


def inherited_item(frame: Frame, owner: Instance) -> Value:
    """What iterating over an object gives whose class extends a library's and leaves that to it."""
    promise = member_promise(frame.analysis.classes.library_bases(owner.cls), "__iter__", Arguments(()))
    return Unknown(Reason.ITEM) if promise is None else keep(frame, promise, owner, Arguments(()))


def known_by_term(module: Module, owner: Unknown, term: str) -> LibraryObject | None:
    """What an attribute (`.boxes`) or key (`[boxes]`) of anything holds, by a library that the module imports."""
    for root in sorted(module.frameworks.roots):
        name = load(root).terms.get(term)
        if name is not None:
            return LibraryObject(
                name, owner.on_cpu, owner.requires_grad, evidence=owner.evidence, device_taint=owner.device_taint
            )
    return None


def inherited_attribute(frame: Frame, bases: list[str], owner: Instance, name: str) -> Value:
    """`self.name` where no class of the repository says what it is."""
    promise = attribute_promise(bases, name)
    if promise is not None:
        facts = owner.on_cpu, owner.requires_grad
        inherited = LibraryObject(bases[0], *facts, evidence=owner.evidence, device_taint=owner.device_taint)
        return keep(frame, promise, inherited, Arguments(()))
    if any(bases) and member_promise(bases, name, Arguments(())) is not None:
        return Method(owner, name)
    return Unknown(Reason.of_attribute(name)) if not bases or name in _NO_METHODS else Method(owner, name)


_NO_METHODS = frozenset(("device", "dtype", "training", "weight", "bias"))


def object_of_bases(bases: list[str]) -> Value:
    """What `super()` is for a class all of whose bases are a library's."""
    return LibraryObject(bases[0]) if bases and bases[0] else Unknown(Reason.LIBRARY)


def runs_without_grad(analysis: Analysis, owner: Class, method: str) -> bool:
    """Whether a library calls this method of its subclasses with grad mode off (lightning's validation_step, ...)."""
    for name in analysis.classes.library_bases(owner):
        for base in bases_of(name):
            if method in load(base.partition(".")[0]).without_grad.get(base, ()):
                return True
    return False


def hook_parameters(analysis: Analysis, function: Function) -> dict[str, Value]:
    """What a library is known to pass to a method that it calls; {} where nothing is."""
    node, owner = function.node, function.owner
    if owner is None or node not in owner.node.body or isinstance(node, ast.Lambda):
        return {}
    parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    found: dict[str, Value] = {}
    for name in analysis.classes.library_bases(owner):
        for base in bases_of(name):
            for position, promise in load(base.partition(".")[0]).hooks.get(f"{base}.{node.name}", ()):
                if position < len(parameters):
                    grad: Fact = False if promise.grad == "never" else None
                    device_taint = DeviceTaint.CHOSEN if promise.device == "chosen" else DeviceTaint.NONE
                    on_cpu = True if promise.device == "cpu" else None
                    found[parameters[position]] = Unknown(Reason.PARAMETER, on_cpu, grad, device_taint=device_taint)
    return found
