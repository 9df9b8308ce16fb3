"""Finds the calls of the settings' sinks in a module, by its own names."""

from __future__ import annotations

import ast
import re

from tonumpy.detectors.consumers import EVERY, Consumer, Parameter
from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.own_names import OwnNames
from tonumpy.own_functions import OwnSink
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS

_CALL = re.compile(r"(?<![\w.])((?:\w+[ \t]*\.[ \t]*)*\w+)[ \t]*\(")


class OwnSinks:
    """The sinks of one module's settings, resolved by every name they have in the module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._sinks = {each.function: _consumer(each) for each in module.sinks}
        self._names = OwnNames(self._sinks, module)
        self._known: dict[str, Consumer | None] = {}

    def sites(self) -> list[Site]:
        """The calls of sinks in the module."""
        source = self._module.source
        called = [(re.sub(r"\s", "", match[1]), match.start()) for match in _CALL.finditer(source.text)]
        rows = sorted({source.position_at(start).row for path, start in called if self._meant(path) is not None})
        sites = find_calls(source, rows, lambda call: self.consumer(call) is not None)
        return [site for site in sites if not _is_given(site)]

    def consumer(self, call: ast.Call) -> Consumer | None:
        path = path_of(call.func)
        return None if path is None else self._meant(path)

    def _meant(self, path: str) -> Consumer | None:
        if path not in self._known:
            full_name = self._names.meant(self._module, path)
            self._known[path] = None if full_name is None else self._sinks[full_name]
        return self._known[path]


def _is_given(site: Site) -> bool:
    """True if the called name is a parameter that shadows an import of the module."""
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
