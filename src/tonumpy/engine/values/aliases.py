"""From a value and a change of another to the value after it, if the two may be the same tensor or view one."""

from __future__ import annotations

from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.evidence import only
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import held_in, mapped, members, parts_of, resting_on
from tonumpy.engine.values.values import (
    NO_ARGUMENTS,
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
from tonumpy.engine.values.widening import holds_containers, widened, without_parts


def unless_it_requires_grad(
    value: Value, given: Arguments = NO_ARGUMENTS, around: frozenset[str] = frozenset()
) -> Value:
    """What a call gives, with every tensor in it that is not known to require grad taken for one that does not.

    What an argument may be, or a view of one, was not made by the call, nor were the variables `around` the function.
    """
    if isinstance(value, Tensor) and any(name.startswith(_ARGUMENT) or name in around for name in value.origins):
        return value
    if isinstance(value, Unknown) and any(value in members(argument) for argument in given.values()):
        return value
    if isinstance(value, Tensor) and value.requires_grad is None and value.param_taint:
        return value  # it does on one path
    if isinstance(value, (Tensor, Unknown)):
        return value if value.requires_grad is not None else value._replace(requires_grad=False)
    return mapped(value, lambda part: unless_it_requires_grad(part, given, around))


def with_origin(value: Value, name: str) -> Value:
    """The value with its name on every tensor in it that has been held by no name yet; kept small (see widening.py)."""
    return _with_origin(widened(value), name)


def _with_origin(value: Value, name: str) -> Value:
    if isinstance(value, Tensor):
        return value if value.origins else value._replace(origins=frozenset((name,)))
    return mapped(value, lambda part: _with_origin(part, name))


def without_origins(arguments: Arguments) -> Arguments:
    """As a function sees them: what it makes of them does not depend on the names that its caller has for them."""
    return arguments.mapped(_without_origins)


def _without_origins(value: Value) -> Value:
    return _with_origins(value, frozenset())


def _with_origins(value: Value, origins: frozenset[str]) -> Value:
    if isinstance(value, Tensor):
        return value if value.origins == origins else value._replace(origins=origins)
    return mapped(value, lambda part: _with_origins(part, origins))


_ARGUMENT = "<argument "  # no name of a variable begins so


def as_given(arguments: Arguments) -> Arguments:
    """As a function sees them: the tensors in them come from an argument, whatever its caller calls them."""
    return arguments._replace(
        positional=tuple(
            _with_origins(value, frozenset((f"{_ARGUMENT}{place}>",)))
            for place, value in enumerate(arguments.positional)
        ),
        named=tuple(
            (name, _with_origins(value, frozenset((f"{_ARGUMENT}{name}>",)))) for name, value in arguments.named
        ),
        starred=_with_origins(arguments.starred, frozenset((f"{_ARGUMENT}*>",))),
    )


def handed_back(result: Value, arguments: Arguments) -> Value:
    """What a function gave, as its caller sees it: what came from an argument has the names that the argument has."""
    if isinstance(result, Tensor):
        if not result.origins:
            return result
        places = {f"{_ARGUMENT}{place}>": value for place, value in enumerate(arguments.positional)}
        places.update((f"{_ARGUMENT}{name}>", value) for name, value in arguments.named)
        places[f"{_ARGUMENT}*>"] = arguments.starred
        names = (_origins_in(places[place]) for place in result.origins.intersection(places))
        return result._replace(origins=frozenset[str]().union(*names))
    return mapped(result, lambda part: handed_back(part, arguments))


def _origins_in(value: Value) -> frozenset[str]:
    if isinstance(value, Tensor):
        return value.origins
    parts = parts_of(value) if isinstance(value, (Sequence, Mapping, Union)) else ()
    return frozenset[str]().union(*map(_origins_in, {id(part): part for part in parts}.values()))


def after_change(value: Value, changed: Tensor) -> Value:
    """A value after a tensor that may be, or view, one in it has got or lost its grad; itself where none may."""
    if isinstance(value, Tensor):
        if not value.origins & changed.origins:
            return value
        if value.requires_grad is changed.requires_grad:
            return resting_on(value, only(changed.evidence, "grad"))
        return value._replace(requires_grad=None, is_given=value.is_given and changed.is_given)
    return mapped(value, lambda part: after_change(part, changed))


def after_part_changed(value: Value, part: LibraryObject | Instance) -> Value:
    """A value after a module that may be in it has been moved, frozen or thawed; itself where none may be."""
    if isinstance(value, LibraryObject) and value.arguments is not None:
        held = held_in(*value.arguments.values(), value.arguments.starred)
        is_concerned = any(_is_like(each, part) for each in held)
        return value._replace(on_cpu=None, requires_grad=None) if is_concerned else value
    return mapped(value, lambda inner: loosened(inner) if _is_like(inner, part) else after_part_changed(inner, part))


MAX_CONTAINERS_OF_OTHERS = 100  # that are followed where one of these is changed


class ChangeOfContainer:
    """What becomes of a container when a list or dict has been changed that may be in it, or was taken out of it.

    Each value is gone into once, however many names and containers hold it. No closure: two that call each other would
    keep all of it until Python's garbage collector comes round, which is off during a run.
    """

    def __init__(self, before: Sequence | Mapping, after: Value) -> None:
        self._before = before
        self._after = after
        self._count = 0
        self._done: dict[int, tuple[Value, Value]] = {}  # the value, too, so that no other gets its id meanwhile

    def held_by_a_name(self, value: Value) -> Value:
        """Only so many containers of containers are followed."""
        if not holds_containers(value):
            return value
        self._count += 1
        return self(value) if self._count <= MAX_CONTAINERS_OF_OTHERS else without_parts(value)

    def __call__(self, value: Value) -> Value:
        if id(value) not in self._done:
            self._done[id(value)] = value, self._of_parts(value)
        return self._done[id(value)][1]

    def _of_parts(self, value: Value) -> Value:
        if isinstance(value, Sequence) and value.element is self._before:
            return Sequence(None, join(self._before, self._after))  # one of its items, and nobody knows which
        return mapped(value, lambda part: join(part, self._after) if part is self._before else self(part))


def _is_like(value: Value, part: LibraryObject | Instance) -> bool:
    """Whether it may be the same object, whatever has been done to it."""
    if isinstance(value, LibraryObject) and isinstance(part, LibraryObject):
        return value.name == part.name and _may_be_same(value.arguments, part.arguments)
    return isinstance(value, Instance) and isinstance(part, Instance) and value.cls == part.cls


def _may_be_same(one: Arguments | None, other: Arguments | None) -> bool:
    """What one of several was made with may not be known: `for net in nets: net.to(device)`."""
    if one is None or other is None or one == other:
        return True
    made, made_too = one.values(), other.values()
    return len(made) == len(made_too) and not any(
        isinstance(first, Constant) and isinstance(second, Constant) and first != second
        for first, second in zip(made, made_too, strict=True)
    )


def with_unknown_grad(value: Value) -> Value:
    """With every tensor in it that can require grad taken for one that may, and for one that was made to."""
    if isinstance(value, Tensor):
        return value if is_integral(value.dtype) else value._replace(requires_grad=None, is_given=False)
    return value._replace(requires_grad=None) if isinstance(value, Unknown) else mapped(value, with_unknown_grad)


def loosened(value: Value) -> Value:
    """A module, or modules in a container, one of which has been moved, frozen or thawed."""
    if isinstance(value, (LibraryObject, Instance)):
        return value._replace(on_cpu=None, requires_grad=None)
    return mapped(value, loosened)
