"""What modules need of `typing` when they run, without it: importing it and making eighty named tuples with it takes a
sixth of the time in which one file is checked.

A type checker sees typing's own names; both names mean what they mean there.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["TYPE_CHECKING", "NamedTuple"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Maker(type):
        """Makes the named tuple that a class body declares, and does not look at what its annotations say."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            annotations = body.pop("__annotations__", {})
            fields = tuple(annotations)
            with_default = tuple(field for field in fields if field in body)
            if with_default != fields[len(fields) - len(with_default) :]:
                raise TypeError(f"{name}: a field without a default follows one that has it")
            defaults = [body.pop(field) for field in with_default]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            made.__annotations__ = annotations
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """Stands for the base class in `class Position(NamedTuple)`; what that makes extends tuple alone."""
