"""The classes of one module whose constructors take their fields: dataclasses, named tuples and the like."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import decorator_names
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tonumpy.text.source import Source

_DECORATORS = frozenset("dataclass define frozen attrs s".split())
_BASES = frozenset("NamedTuple BaseModel Struct".split())
_MAKERS = frozenset(("namedtuple", "NamedTuple"))


class Records:
    """Those of a module, with their fields in order."""

    def __init__(self, source: Source, classes: Mapping[str, ast.ClassDef]) -> None:
        self._source = source
        self._classes = classes

    @cached_property
    def fields(self) -> dict[str, list[str]]:
        found = {name: self._fields_of(each) for name, each in self._classes.items() if _is_record(each)}
        for statement in statements_of(self._source.tree.body):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                fields = _fields_told(statement.value)
                if fields:
                    found[statement.targets[0].id] = fields
        return found

    def _fields_of(self, cls: ast.ClassDef) -> list[str]:
        """Those of its bases first."""
        found: list[str] = []
        line = [cls]  # a class and its bases, each once
        for each in line:
            targets = (part.target for part in each.body if isinstance(part, ast.AnnAssign))
            found = [*(target.id for target in targets if isinstance(target, ast.Name)), *found]
            bases = (self._classes.get(last_name(base) or "") for base in each.bases)
            line += (base for base in bases if base is not None and base not in line and _is_record(base))
        return list(dict.fromkeys(found))

    def given(self, call: ast.Call) -> list[tuple[str, ast.expr]] | None:
        """What each field of a record is given that a call makes; None where it makes none."""
        name = last_name(call.func) or ""
        fields = self.fields.get(name) if isinstance(call.func, ast.Name) else None
        if fields is None and name != "SimpleNamespace":
            return None
        return [*zip(fields or (), call.args), *((each.arg or "", each.value) for each in call.keywords)]  # noqa: B905

    def fields_among(self, fields: set[str], count: int) -> list[str]:
        """The fields of the one sort of record that has so many, these among them."""
        found = [each for each in self.fields.values() if len(each) == count and fields.issubset(each)]
        return found[0] if len(found) == 1 and fields else []


def _is_record(cls: ast.ClassDef) -> bool:
    """Whether its constructor is made from its fields."""
    is_told = not _DECORATORS.isdisjoint(decorator_names(cls)) or any(last_name(each) in _BASES for each in cls.bases)
    return is_told and not any(isinstance(each, FUNCTIONS) and each.name == "__init__" for each in cls.body)


def _fields_told(value: ast.expr) -> list[str]:
    """`namedtuple("Point", "x y")`, `NamedTuple("Point", [("x", int)])`"""
    if not isinstance(value, ast.Call) or last_name(value.func) not in _MAKERS or len(value.args) < 2:
        return []
    told = value.args[1]
    if isinstance(told, ast.Constant) and isinstance(told.value, str):
        return told.value.replace(",", " ").split()
    names = told.elts if isinstance(told, (ast.List, ast.Tuple)) else []
    firsts = (each.elts[0] if isinstance(each, ast.Tuple) and each.elts else each for each in names)
    return [each.value for each in firsts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
