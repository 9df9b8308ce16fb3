"""What modules need of `typing` when they run, without it: importing it and making eighty named tuples with it takes a
sixth of the time in which one file is checked.

A type checker sees typing's own names; both names mean what they mean there.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "NamedTuple"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple
else:
    from collections import _tuplegetter
    from functools import cache
    from types import FunctionType

    def _make(cls: type, values: Iterable[object]) -> tuple:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self: tuple, /, **changed: object) -> tuple:
        made = tuple.__new__(self.__class__, map(changed.pop, self._fields, self))
        if changed:
            raise TypeError(f"Got unexpected field names: {list(changed)}")
        return made

    def _asdict(self: tuple) -> dict[str, object]:
        return dict(zip(self._fields, self, strict=True))

    def _shown(self: tuple) -> str:
        fields = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{self.__class__.__name__}({fields})"

    def _arguments(self: tuple) -> tuple:
        return tuple(self)

    _METHODS = {
        "_make": classmethod(_make),
        "_replace": _replace,
        "_asdict": _asdict,
        "__repr__": _shown,
        "__getnewargs__": _arguments,
        "__slots__": (),
    }

    @cache
    def _getter(place: int) -> object:
        return _tuplegetter(place, f"Alias for field number {place}")

    @cache
    def _constructor(number: int) -> FunctionType:
        """What makes a tuple of so many fields. To compile it is half of what a class costs, so classes share it."""
        names = "".join(f"_{place}, " for place in range(number))
        return eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": tuple.__new__})

    class _Maker(type):
        """Makes the named tuple that a class body declares, and does not look at what its annotations say."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.setdefault("__annotations__", {}))
            defaults = {field: body[field] for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one that has it")
            some = _constructor(len(fields))
            code = some.__code__.replace(co_varnames=("_cls", *fields))
            make = FunctionType(code, some.__globals__, "__new__", tuple(defaults.values()))
            make.__qualname__ = f"{name}.__new__"
            about = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__new__": make}
            getters = {field: _getter(place) for place, field in enumerate(fields)}
            return type(name, (tuple,), {**_METHODS, **body, **about, **getters})

    class NamedTuple(metaclass=_Maker):
        """Stands for the base class in `class Position(NamedTuple)`; what that makes extends tuple alone."""
