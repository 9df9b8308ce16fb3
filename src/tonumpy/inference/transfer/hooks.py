"""From the registration of a hook to what torch gives it, and to its run: what it leaves in the variables around."""

from __future__ import annotations

import ast

from tonumpy.inference.index.hooks import HOOKS, mode_of_runs
from tonumpy.inference.lattice.environment import GRAD_MODE
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import (
    NOTHING,
    Arguments,
    BoundMethod,
    DeviceTaint,
    Function,
    Instance,
    LibraryObject,
    Sequence,
    Tensor,
    Unknown,
    Value,
    may_be,
    members,
)
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.index.hooks import Mode
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.transfer.frame import Frame

_CALLED = (Function, BoundMethod, Instance, LibraryObject)
_WITH_DEVICE = (Tensor, Unknown, Instance, LibraryObject)


def run_registered(frame: Frame, call: ast.Call, name: str, receiver: Value, arguments: Arguments) -> None:
    """Run the hook that `receiver.register_forward_hook(hook)`, or another method called `name`, registers."""
    hook = arguments.get(0, "hook")
    if hook is None or not may_be(hook, _CALLED):
        return
    if name == "register_hook" and not may_be(receiver, (Tensor, Unknown)):
        return  # that of another library: `runner.register_hook(hook)`
    before = frame.env.get(GRAD_MODE) or NOTHING
    given, mode = given_to_hook(frame, call, receiver, frame.grad_mode)
    frame.set_grad_mode(mode)
    frame.evaluator.call(frame, hook, given)
    frame.env.set(GRAD_MODE, before)


def given_to_hook(frame: Frame, call: ast.Call, receiver: Value, registered_in: Fact) -> tuple[Arguments, Fact]:
    """What torch gives the hook that `call` registers, and the grad mode it is run in; `registered_in` is that of the
    registration."""
    assert isinstance(call.func, ast.Attribute)
    kind = HOOKS[call.func.attr]
    part = _where_it_is(frame.module, receiver)
    if "gradient" in kind:
        has_graph = frame.module.words.makes_graphs_of_gradients
        gradient = part._replace(requires_grad=None if has_graph else False)
        return _of_backward(kind, receiver, gradient), None if has_graph else False
    mode = mode_of_runs(frame.module, call)
    inputs, output = _of_forward(part, mode, receiver)
    given: list[Value] = [receiver, inputs]
    if any(each.arg == "with_kwargs" for each in call.keywords):
        given.append(Unknown(Reason.PARAMETER, is_no_tensor=True))
    if kind == "inputs and output":
        given.append(output._replace(certainty="tensor") if _makes_tensor(frame, receiver) else output)
    return Arguments(tuple(given)), {"on": registered_in or None, "off": False, "unknown": None}[mode]


def _makes_tensor(frame: Frame, layer: Value) -> bool:
    """Whether it is a layer of torch's own that gives a tensor."""
    made = frame.evaluator.call(frame, layer, Arguments((Tensor(),))) if isinstance(layer, LibraryObject) else None
    return isinstance(made, Tensor)


def _of_backward(kind: str, receiver: Value, gradient: Tensor) -> Arguments:
    several = Sequence(None, gradient)
    return {
        "gradient": Arguments((gradient,)),
        "gradients of outputs": Arguments((receiver, several)),
        "gradients of inputs and outputs": Arguments((receiver, several, several)),
    }[kind]


def _of_forward(part: Tensor, mode: Mode, receiver: Value) -> tuple[Sequence, Tensor]:
    """The inputs and the output of a module."""
    is_frozen = any(getattr(each, "requires_grad", None) is False for each in members(receiver))
    if mode == "off":
        part = part._replace(requires_grad=False)
    return Sequence(None, part), part._replace(param_taint=mode == "on" and not is_frozen)


def _where_it_is(module: Module, receiver: Value) -> Tensor:
    """A tensor that is where a module is, or a tensor. It may be moved later, where other devices are named."""
    holders = [each for each in members(receiver) if isinstance(each, _WITH_DEVICE)]
    taint = max((each.device_taint for each in holders), default=DeviceTaint.NONE)
    places = {each.on_cpu for each in holders}
    on_cpu = places.pop() if len(places) == 1 else None
    if on_cpu and module.words.names_other_devices and not isinstance(receiver, Tensor):
        on_cpu = None
    return Tensor(on_cpu, None, None, "likely", device_taint=taint)
