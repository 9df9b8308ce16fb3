"""Transfer functions of containers of modules (`nn.Sequential`, `DataParallel`): their items, calls and mutations."""

from __future__ import annotations

from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import mapped
from tonumpy.engine.values.values import (
    NOTHING,
    Arguments,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)

CONTAINERS = frozenset(
    f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
)


def is_container(value: Value) -> bool:
    return isinstance(value, LibraryObject) and value.name in CONTAINERS


def _contents(owner: LibraryObject) -> Sequence | Mapping | None:
    """What a container was made of, and has been filled with; None where that is not in sight."""
    if owner.arguments is None:
        return None
    given = owner.arguments.positional
    if owner.arguments.has_star:
        return Sequence(None, join_all((*given, owner.arguments.starred)))
    whole = given[0] if len(given) == 1 else None
    return whole if isinstance(whole, (Sequence, Mapping)) else sequence_of(given)


def _held(owner: LibraryObject, value: Value) -> Value:
    """One of the things in a container, which is moved, cast and frozen as a whole."""
    if isinstance(value, Union):
        return join_all(_held(owner, member) for member in value.members)
    if isinstance(value, (LibraryObject, Instance, Tensor)):
        dtype = value.dtype if isinstance(value, Tensor) else owner.dtype or value.dtype
        grad = owner.requires_grad
        return value._replace(on_cpu=owner.on_cpu, requires_grad=grad, dtype=dtype, device_taint=owner.device_taint)
    return Unknown(Reason.LIBRARY, owner.on_cpu, owner.requires_grad, device_taint=owner.device_taint)


def layer(owner: LibraryObject, index: Value | None) -> Value:
    """What stands in a container at an index or under a name; any of what is in it where that is not known."""
    whole = _contents(owner)
    found: Value = NOTHING
    if isinstance(whole, Mapping):
        found = whole.get(index.value) if isinstance(index, Constant) else join_all(whole.values())
    elif whole is not None:
        items, place = whole.items or (), index.value if isinstance(index, Constant) else None
        found = whole.element
        if isinstance(place, int) and -len(items) <= place < len(items):
            found = items[place]
    return _held(owner, found)


def made_around(owner: LibraryObject, name: str) -> Value | None:
    """The first of the arguments that an object was made with, called `name`; None where that is not in sight."""
    return None if owner.arguments is None else owner.arguments.get(0, name)


def wrapped(owner: LibraryObject) -> Value:
    """The module that a DataParallel was made with, which is moved, cast and frozen with it."""
    return _held(owner, made_around(owner, "module") or Unknown(Reason.LIBRARY))


def scattered(owner: LibraryObject, arguments: Arguments) -> Arguments:
    """What a DataParallel gives its module: the tensors that it is called with, brought to where the module is."""
    return arguments.mapped(lambda value: _brought(value, owner))


def _brought(value: Value, owner: LibraryObject) -> Value:
    if isinstance(value, Tensor):
        return value._replace(on_cpu=owner.on_cpu, device_taint=owner.device_taint)
    return mapped(value, lambda part: _brought(part, owner))


_FILLING = frozenset("append insert extend update add_module register_module __setitem__".split())


def filled(owner: LibraryObject, method: str) -> LibraryObject | None:
    """A container into which something has been put: nothing is known of it any more; None after other methods."""
    return owner._replace(on_cpu=None, requires_grad=None, arguments=None) if method in _FILLING else None
