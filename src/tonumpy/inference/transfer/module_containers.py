"""Transfer functions of containers of modules (`nn.Sequential`, `DataParallel`): their items, calls and mutations."""

from __future__ import annotations

from tonumpy.inference.lattice.joins import join, join_all, sequence_of, updated
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import (
    NOTHING,
    Arguments,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    Nothing,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    evidence_in,
    join_fact,
    mapped,
    same,
    tensor_facts,
)
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame

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


def one_after_another(frame: Frame, owner: LibraryObject, argument: Value) -> Value | None:
    """What the layers make of an argument, one after the other; None where they are not in sight."""
    whole = _contents(owner)
    if whole is None or (isinstance(whole, Mapping) and not isinstance(whole.other, Nothing)):
        return None
    layers = tuple(value for _, value in whole.entries) if isinstance(whole, Mapping) else whole.items
    if layers is not None:
        for each in layers:
            argument = frame.evaluator.call(frame, _held(owner, each), Arguments((argument,)))
        return argument if layers else None
    assert isinstance(whole, Sequence)
    for _ in range(MAX_ROUNDS):  # there may be any number of them
        after = join(argument, frame.evaluator.call(frame, _held(owner, whole.element), Arguments((argument,))))
        if same(after, argument):
            return after
        argument = after
    return None


MAX_ROUNDS = 4


def filled(owner: LibraryObject, method: str, arguments: Arguments) -> LibraryObject | None:
    """A container into which something has been put; None after other methods."""
    given = arguments.positional[-1] if arguments.positional else Unknown(Reason.CONTENT)
    if method in ("append", "insert", "__setitem__", "add_module", "register_module"):
        put: Value = given
    elif method == "extend":
        put = given.element if isinstance(given, Sequence) else Unknown(Reason.LIBRARY)
    elif method == "update":
        put = join_all(updated(Mapping(()), given).values())
    else:
        return None
    cpu, grad = tensor_facts(put) if isinstance(put, (LibraryObject, Tensor)) else _facts_of_module(put)
    whole = _contents(owner)
    if whole is None:
        return owner._replace(on_cpu=None, requires_grad=None)
    if whole not in (Sequence((), NOTHING), Mapping(())):
        cpu, grad = join_fact(cpu, owner.on_cpu), join_fact(grad, owner.requires_grad)
    if isinstance(whole, Mapping):
        name = arguments.positional[0] if method == "__setitem__" else None
        changed: Sequence | Mapping = (
            updated(whole, Mapping(((name.value, put),)))
            if isinstance(name, Constant)
            else updated(whole, Mapping((), put))
        )
    else:
        changed = Sequence(None, join(whole.element, put))
    changed_owner = owner._replace(on_cpu=cpu, requires_grad=grad, arguments=Arguments((changed,)))
    return changed_owner._replace(evidence=owner.evidence | evidence_in(put))


def _facts_of_module(value: Value) -> tuple[bool | None, bool | None]:
    return (value.on_cpu, value.requires_grad) if isinstance(value, Instance) else (None, None)
