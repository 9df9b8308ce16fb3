"""From the sinks in the settings, and what numba compiles, to their calls in a module, by its own names."""

from __future__ import annotations

import ast
import os
import re
from functools import cached_property

from tonumpy.inference.index.bindings import imports_among, path_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.compiled import compiled_in, may_compile
from tonumpy.sinks.consumers import EVERY, Consumer, Parameter
from tonumpy.sinks.sink_calls import imports_within
from tonumpy.text.candidates import find_calls
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.inference.index.module import Module
    from tonumpy.own_sinks import OwnSink
    from tonumpy.text.candidates import Site

_WITHIN = re.compile(r"^[ \t]+((?:import|from)[ \t]+[^\n(\\;#]*)", re.MULTILINE)  # in a function

_Name = tuple[str, ...]  # a dotted one


def has_own_sinks(module: Module) -> bool:
    return bool(module.sinks) or may_compile(module.source)


class OwnSinks:
    """Those of one module's settings, by what its names stand for, and its functions that numba compiles."""

    def __init__(self, module: Module) -> None:
        self._source = module.source
        self._compiled = compiled_in(module.source)
        self._consumers = {tuple(each.function.split(".")): _consumer(each) for each in module.sinks}

    def sites(self) -> list[Site]:
        """The calls that may convert."""
        words = {name[-1] for name in self._consumers} & set(re.findall(r"\w+", self._source.text))
        words |= {local for local, name, _ in self._named if words and name[-1:] and name[-1] in words}
        words |= self._compiled.keys()
        if not words:
            return []
        calls = re.finditer(rf"\b(?:{'|'.join(sorted(words))})\s*\(", self._source.text)
        rows = sorted({self._source.position_at(match.start()).row for match in calls})
        return find_calls(self._source, rows, lambda call: self.consumer(call) is not None)

    def consumer(self, call: ast.Call) -> Consumer | None:
        if isinstance(call.func, ast.Name) and call.func.id in self._compiled:
            return self._compiled[call.func.id]
        root, *rest = (path_of(call.func) or "").split(".")
        for local, name, is_whole in self._named:
            if local != root:
                continue
            full = (*name, *rest)
            for sink, consumer in self._consumers.items():
                if full == sink or (not is_whole and full[-len(sink) :] == sink):
                    return consumer
        return None

    @cached_property
    def _named(self) -> list[tuple[str, _Name, bool]]:
        """The names of the module, each with what it stands for: the whole name, or behind the path of a folder."""
        return [*self._imported(), *self._defined()]

    def _imported(self) -> Iterator[tuple[str, _Name, bool]]:
        folder = _parts(os.path.dirname(os.path.abspath(self._source.filename)))
        statements = (*statements_of(self._source.tree.body), *imports_within(self._source.text, _WITHIN))
        for local, imported in imports_among(statements):
            name = tuple(imported.full_name.split("."))
            if not imported.level:
                yield local, name, True
            else:
                above = folder[: len(folder) - imported.level + 1]
                inside = imported.module.split(".") if imported.module else []
                yield local, (*above, *inside, name[-1]), False

    def _defined(self) -> Iterator[tuple[str, _Name, bool]]:
        """A function calls its neighbour by its bare name."""
        path = _parts(os.path.splitext(os.path.abspath(self._source.filename))[0])
        where = path[:-1] if path[-1:] == ["__init__"] else path
        for statement in statements_of(self._source.tree.body):
            if isinstance(statement, FUNCTIONS):
                yield statement.name, (*where, statement.name), False


def _consumer(sink: OwnSink) -> Consumer:
    refusal = EVERY._replace(keeps_value=sink.keeps_value)
    takes = {"tensor": refusal, "items": refusal}
    parameters = tuple(
        Parameter(each, None, takes) if isinstance(each, str) else Parameter(None, each, takes)
        for each in sink.converts
    )
    return Consumer(parameters, refuses=False)


def _parts(path: str) -> list[str]:
    return [part for part in path.split(os.sep) if part]
