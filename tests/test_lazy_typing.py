"""Our NamedTuple makes what typing's makes."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing

import pytest

from tonumpy import lazy_typing


class Ours(lazy_typing.NamedTuple):
    """A place."""

    row: int
    name: str = "here"
    parts: tuple[NotDefined, ...] = ()  # type: ignore[name-defined]  # noqa: F821

    @property
    def is_first(self) -> bool:
        return self.row == 1

    @classmethod
    def first(cls) -> Ours:
        return cls(1)


class Theirs(typing.NamedTuple):
    """A place."""

    row: int
    name: str = "here"
    parts: tuple[NotDefined, ...] = ()  # type: ignore[name-defined]  # noqa: F821

    @property
    def is_first(self) -> bool:
        return self.row == 1

    @classmethod
    def first(cls) -> Theirs:
        return cls(1)


@pytest.mark.parametrize(
    "name", ["__doc__", "__module__", "__slots__", "__bases__", "_fields", "_field_defaults", "__match_args__"]
)
def test_the_class_is_the_same(name: str) -> None:
    assert getattr(Ours, name) == getattr(Theirs, name)
    assert list(Ours.__annotations__) == list(Theirs.__annotations__)


def test_the_class_can_be_called_the_same_way() -> None:
    assert inspect.signature(Ours).parameters.keys() == inspect.signature(Theirs).parameters.keys()
    for make in (Ours, Theirs):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'row'"):
            make()  # type: ignore[call-arg]


def test_the_values_are_the_same() -> None:
    ours, theirs = Ours(1, name="there"), Theirs(1, name="there")
    assert ours == theirs == (1, "there", ())
    assert hash(ours) == hash(theirs)
    assert repr(ours).replace("Ours", "Theirs") == repr(theirs)
    assert ours._replace(row=2) == theirs._replace(row=2)
    assert ours._asdict() == theirs._asdict()
    assert Ours._make(iter(theirs)) == ours
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        Ours._make([1])
    with pytest.raises((TypeError, ValueError), match="Got unexpected field names: \\['column'\\]"):
        ours._replace(column=2)  # type: ignore[call-arg]
    assert ours.is_first and Ours.first() == Theirs.first()
    assert copy.deepcopy(ours) == ours
    loaded = pickle.loads(pickle.dumps(ours))
    assert type(loaded) is Ours and loaded == ours


def test_a_field_without_a_default_cannot_follow_one_that_has_it() -> None:
    with pytest.raises(TypeError, match="cannot follow"):

        class _Theirs(typing.NamedTuple):
            row: int = 1
            name: str  # type: ignore[misc]

    with pytest.raises(TypeError, match="_Ours: a field without a default follows one that has it"):

        class _Ours(lazy_typing.NamedTuple):
            row: int = 1
            name: str  # type: ignore[misc]
