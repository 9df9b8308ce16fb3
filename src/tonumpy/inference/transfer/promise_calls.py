"""From a promise (a library's row, or a user's) and a call's arguments to the promised value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.libraries.rows import is_module
from tonumpy.engine.knowledge.operands import promoted, result_facts
from tonumpy.engine.values.dtypes import is_real
from tonumpy.engine.values.evidence import PROVED, Evidence, Strength, joined, of_open, only
from tonumpy.engine.values.joins import sequence_of
from tonumpy.engine.values.value_facts import evidence_in, have_param_taint, max_device_taint, members, tensor_facts
from tonumpy.engine.values.values import (
    NONE,
    Arguments,
    Constant,
    DeviceTaint,
    Function,
    Instance,
    LibraryObject,
    Tensor,
    Value,
    same,
)
from tonumpy.inference.transfer.devices import cpu_of_device
from tonumpy.inference.transfer.promised_values import Promised, value_of

if TYPE_CHECKING:
    from tonumpy.engine.knowledge.libraries.rows import Promise, Where
    from tonumpy.engine.values.evidence import AllEvidence, Aspect
    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame


def keep(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> Value:
    """The value that a promise describes, for these arguments."""
    cpu = device_of(promise, owner, arguments)
    if promise.device == "default type":
        cpu = None if frame.module.words.speaks_of_variables else True
    grad = grad_of(promise, owner, arguments, frame.grad_mode)
    device_taint = (
        DeviceTaint.NONE if cpu is True else max(max_device_taint(arguments.values()), _sent_with(promise, owner))
    )
    device_taint = DeviceTaint.CHOSEN if promise.device == "chosen" else device_taint
    dtype = promise.dtype
    if dtype == "self":
        dtype = owner.dtype if isinstance(owner, (LibraryObject, Instance)) else None
    elif dtype == "first":
        first = arguments.positional[0] if arguments.positional else None
        dtype = first.dtype if isinstance(first, Tensor) else None
    elif dtype == "inputs":
        given = arguments.all_values()
        known = None if given is None else promoted(given)
        dtype = known if is_real(known) else None
    evidence = _rests_on(frame, promise, owner, arguments, cpu, grad)
    if dtype is not None:
        evidence |= _derived(frame, promise, "dtype", promise.dtype or "", owner, arguments)
    param_taint = grad is not False and _has_param_taint(frame, promise, owner, arguments)
    tensor = Tensor(
        cpu,
        grad,
        dtype,
        is_number=promise.reduces,
        dimensions=0 if promise.reduces and "reduction" not in frame.module.source.text else None,
        device_taint=device_taint,
        evidence=evidence,
        param_taint=param_taint,
    )
    kept = [value_of(word, Promised(frame, tensor, owner, arguments)) for word in promise.returns]
    return kept[0] if len(kept) == 1 else sequence_of(kept)


def _rests_on(
    frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments, cpu: Fact, grad: Fact
) -> AllEvidence:
    """The promise itself, and what the facts rest on that it is derived from."""
    evidence: AllEvidence = PROVED
    if cpu is not None:
        evidence = _derived(frame, promise, "device", _whose_device(promise, owner, arguments), owner, arguments)
    if grad is not None and (grad or frame.grad_mode is not False):
        evidence |= _derived(frame, promise, "grad", promise.grad, owner, arguments)
    if frame.analysis.tells_origins:
        evidence |= _begun_in(owner, arguments)
    return evidence


def _begun_in(owner: Value | None, arguments: Arguments) -> AllEvidence:
    given = joined(map(evidence_in, arguments.values() if owner is None else (*arguments.values(), owner)))
    return frozenset(each for each in of_open(given) if each.about in ("device", "grad"))


_DERIVED = frozenset("first inputs self both own derived".split()) | {"some of both"}


def _derived(
    frame: Frame, promise: Promise, about: Aspect, of: str, owner: Value | None, arguments: Arguments
) -> AllEvidence:
    message = promise.source or "documented by the library"
    said = frozenset((Evidence(Strength.PROMISE, about, promise.name, message, frame.module.filename, frame.row),))
    # Whether it is an object of this class at all may be but a habit.
    said |= frozenset(
        each._replace(about=about)
        for each in (() if owner is None else evidence_in(owner))
        if each.about == "kind" and each.strength is not Strength.PROOF
    )
    if of not in _DERIVED:
        return said
    parts = [evidence_in(value) for value in arguments.values()] if of not in ("self", "own") else []
    if owner is not None and of not in ("first", "inputs"):
        parts.append(evidence_in(owner))
    return said | only(joined(parts), about)


def _has_param_taint(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> bool:
    """Whether what is promised is, or may be made of, parameters, while grad mode may be on."""
    if frame.grad_mode is False and promise.grad != "own":
        return False
    if promise.grad == "own" and promise.returns == ("unknown",):
        return False  # the parts of a module, which are modules
    if promise.grad in _OF_ITSELF and _is_module(frame, owner):
        return True
    operands = _operands(promise.grad, None, arguments) or []
    return have_param_taint(operands)


# Words of `promise.device` by which a tensor is where its module is.
_WITH_ITS_OWNER = ("self", "both", "parameters")


def _sent_with(promise: Promise, owner: Value | None) -> DeviceTaint:
    """Where a module has been sent is what it holds, and what it makes of what it is given."""
    if not isinstance(owner, (Instance, LibraryObject)) or promise.device not in _WITH_ITS_OWNER:
        return DeviceTaint.NONE
    return owner.device_taint


def _is_module(frame: Frame, owner: Value | None) -> bool:
    """Whether it is a module whose parameters are not all frozen."""
    if not isinstance(owner, (Instance, LibraryObject)) or owner.requires_grad is False:
        return False
    if isinstance(owner, LibraryObject):
        return is_module([owner.name])
    return frame.analysis.kinds.is_module(owner.cls)


# Words of `promise.grad` that speak of what the object holds.
_OF_ITSELF = ("self", "own", "both", "some of both")


def device_of(promise: Promise, owner: Value | None, arguments: Arguments) -> Fact:
    """Whether the promised value is on the CPU."""
    if promise.device in ("cpu", "accelerator"):
        return promise.device == "cpu"
    if promise.device in ("unknown", "default type", "chosen"):
        return None
    given = arguments.named_value(promise.keyword)
    if given is None and promise.position is not None:
        given = arguments.get(promise.position, promise.keyword)
    if given is not None and not same(given, NONE):
        return True if _keeps_storage(given) else cpu_of_device(given)
    if promise.device in ("argument", "given"):  # the CPU unless a device is given; unknown unless one is
        return True if promise.device == "argument" and not arguments.has_star else None
    operands = _operands(_whose_device(promise, owner, arguments), owner, arguments)
    return None if operands is None else result_facts(operands, None, mixes=_holds_them(promise))[0]


def _whose_device(promise: Promise, owner: Value | None, arguments: Arguments) -> Where:
    """Inputs that are not where the parameters are make torch raise, so parameters that are known speak for them; not
    so where an input was sent somewhere, or may have been: then the module was, too, out of sight."""
    if promise.device != "parameters":
        return promise.device
    given = arguments.all_values()
    if owner is None or tensor_facts(owner)[0] is None or given is None or any(map(_was_sent, given)):
        return "both"
    return "self"


def _was_sent(value: Value) -> bool:
    if isinstance(value, LibraryObject):  # what a tokenizer makes is on the CPU until then
        return value.on_cpu is None
    return max_device_taint(members(value)) > DeviceTaint.NONE


def _holds_them(promise: Promise) -> bool:
    """An object, unlike an operator of torch, may hold tensors on different devices, some of which require grad."""
    return promise.returns == ("self",)


def _keeps_storage(given: Value) -> bool:
    """`lambda storage, location: storage`: what is loaded stays on the CPU, where it is read."""
    if not isinstance(given, Function) or not isinstance(given.node, ast.Lambda):
        return False
    first = given.node.args.args[:1]
    return bool(first) and isinstance(given.node.body, ast.Name) and given.node.body.id == first[0].arg


def grad_of(promise: Promise, owner: Value | None, arguments: Arguments, grad_mode: Fact) -> Fact:
    """Whether the promised value requires grad."""
    whether = promise.grad
    if whether == "derived":
        return False if grad_of(promise._replace(grad="self"), owner, arguments, True) is False else None
    if whether == "some of both":
        return False if grad_of(promise._replace(grad="both"), owner, arguments, grad_mode) is False else None
    if whether == "own":
        whether, grad_mode = "self", True
    if whether in ("asked", "argument"):
        given = arguments.get(1, "requires_grad")
        if given is None:
            return None if arguments.has_star else whether == "asked"
        return given.value if isinstance(given, Constant) and isinstance(given.value, bool) else None
    if whether == "never" or grad_mode is False:
        return False
    operands = _operands(whether, owner, arguments)
    return None if operands is None else result_facts(operands, grad_mode, mixes=_holds_them(promise))[1]


_OF_NO_TENSOR = ("device", "dtype")  # arguments that bring neither a grad nor a device of their own


def _operands(which: str, owner: Value | None, arguments: Arguments) -> list[Value] | None:
    values = () if which == "self" else arguments.all_values()
    if which == "unknown" or values is None:
        return None
    if which == "first":
        return list(arguments.positional[:1]) or None
    told = [value for name, value in arguments.named if name in _OF_NO_TENSOR] if which != "self" else ()
    given = [value for value in values if not any(value is each for each in told)]
    if which in ("self", "both") and owner is not None:
        given.append(owner)
    return given
