"""From the sinks in the settings to their calls in a module, by its own names."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.name_places import ends_with, places_imported, places_read
from tonumpy.sinks.consumers import EVERY, Consumer, Parameter
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    import ast

    from tonumpy.engine.names.module import Module
    from tonumpy.own_sinks import OwnSink
    from tonumpy.text.candidates import Site

_CALL = re.compile(r"(?<![\w.])((?:\w+[ \t]*\.[ \t]*)*\w+)[ \t]*\(")


class OwnSinks:
    """The sinks of one module's settings, by every name that they are called by."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._source = module.source
        self._known: dict[str, Consumer | None] = {}

    def sites(self) -> list[Site]:
        """The calls that may convert."""
        called = {match[1] for match in _CALL.finditer(self._source.text)}
        names = {name for name in called if self._meant(re.sub(r"\s", "", name)) is not None}
        if not names:
            return []
        calls = re.finditer(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(names)))})[ \t]*\(", self._source.text)
        rows = sorted({self._source.position_at(match.start()).row for match in calls})
        sites = find_calls(self._source, rows, lambda call: self.consumer(call) is not None)
        return [site for site in sites if not _is_given(site)]

    def consumer(self, call: ast.Call) -> Consumer | None:
        path = path_of(call.func)
        return None if path is None else self._meant(path)

    def _meant(self, path: str) -> Consumer | None:
        if path not in self._known:
            self._known[path] = self._of_settings(path)
        return self._known[path]

    def _of_settings(self, path: str) -> Consumer | None:
        names, root = self._module.names, path.partition(".")[0]
        if not (names.bindings.keys() & {root, "*"} or root in names.imports_in_functions):
            return None
        for place in places_read(path, self._module):
            for sink, places in self._places:
                if place in places or ends_with(place, sink.function):
                    return _consumer(sink)
        return None

    @cached_property
    def _places(self) -> list[tuple[OwnSink, frozenset[str]]]:
        return [(each, frozenset(places_imported(each.function, self._module))) for each in self._module.sinks]


def _is_given(site: Site) -> bool:
    """Whether what is called is a parameter, which has the name of an import elsewhere in the module."""
    root = (path_of(site.call.func) or "").partition(".")[0]
    return any(root in parameter_names(scope.args) for scope in site.scopes if isinstance(scope, FUNCTIONS))


def _consumer(sink: OwnSink) -> Consumer:
    refusal = EVERY._replace(keeps_value=sink.keeps_value)
    takes = {"tensor": refusal, "items": refusal}
    parameters = tuple(
        Parameter(each, None, takes) if isinstance(each, str) else Parameter(None, each, takes)
        for each in sink.converts
    )
    return Consumer(parameters, refuses=False)
