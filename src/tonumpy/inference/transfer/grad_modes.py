"""From a grad context (`torch.no_grad` and its like) to grad mode in its block, or in the function it decorates.

A mode is "on", "off", "unknown", or "unchanged" from what it is around the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS, TOLD_BY_FLAG
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import BoundMethod, Constant, Function, LibraryObject, Value

if TYPE_CHECKING:
    from tonumpy.engine.values.values import Arguments
    from tonumpy.facts import Fact


def mode_of_objects(value: Value) -> str:
    """What a context manager that a variable holds, or a function gives, makes of grad mode."""
    modes = {_mode_of_object(member) for member in members(value)}
    return modes.pop() if len(modes) == 1 else "unknown"


def _mode_of_object(value: Value) -> str:
    name = value.name.rpartition(".")[2] if isinstance(value, LibraryObject) else ""
    if not isinstance(value, LibraryObject) or name not in GRAD_CONTEXTS:
        return "unchanged"
    given = () if value.arguments is None else value.arguments.values()
    return mode_of_context(name, given[0] if given else None)


def mode_of_context(name: str, given: Value | None) -> str:
    """Of the context of this name, without its module's, by what it is given."""
    if name not in TOLD_BY_FLAG or given is None:
        return GRAD_CONTEXTS[name]
    if not isinstance(given, Constant) or not isinstance(given.value, bool):
        return "unknown"
    where_true = TOLD_BY_FLAG[name]
    return where_true if given.value else {"on": "off", "off": "on"}[where_true]


def under_context(mode: str, arguments: Arguments) -> Function | BoundMethod | None:
    """`torch.no_grad()(function)`: the same function, which runs in this mode; None where it is called otherwise."""
    given = arguments.positional[0] if len(arguments.positional) == 1 else None
    if isinstance(given, Function):
        return running_in(mode, given)
    return given._replace(function=running_in(mode, given.function)) if isinstance(given, BoundMethod) else None


def running_in(mode: str, function: Function) -> Function:
    """One that is in some mode already sets it once more inside of this."""
    return function._replace(grad_mode=mode) if function.grad_mode == "unchanged" else function


def inside(mode: str, around: Fact) -> Fact:
    """Whether grad mode is on in this mode, and whether it is around it."""
    return {"on": True, "off": False, "unchanged": around}.get(mode)
