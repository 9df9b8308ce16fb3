"""Callers in other files that pass a risky argument: they raise findings, and never lower them."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.names.bindings import decorator_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import path_of_module
from tonumpy.engine.summaries.analysis import Analysis
from tonumpy.engine.summaries.callers import called_at, common_mode, is_at_risk, record_of
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import resting_on
from tonumpy.engine.values.values import NOTHING, Instance, Value
from tonumpy.facts import Fact
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import may_hold_risks
from tonumpy.text.syntax import FUNCTIONS

MAX_FILES = 6
MAX_CALLS = 12
MIN_NAME = 4  # letters: shorter names occur in every file
_CALLED = r"%s(?<!\w%s)\s*\("


class Risky(NamedTuple):
    """The joined arguments and grad mode of the calls that pass a risky argument."""

    values: dict[str, Value]
    mode: Fact


class CallersElsewhere:
    """Finds the calls of a module's functions in other files of the repository."""

    def __init__(self, module: Module, analysis: Analysis, run: Callable[[Module, Site], Frame]) -> None:
        self._module = module
        self._analysis = analysis
        self._run = run

    def risky(self, scopes: tuple[ast.AST, ...]) -> Risky | None:
        """The entry of the innermost scope from calls in other files with a risky argument; None if there are none."""
        node = scopes[-1]
        if len(scopes) != 2 or not isinstance(node, FUNCTIONS) or decorator_names(node):
            return None
        if len(node.name) < MIN_NAME or node.name.startswith("_") or self._module.is_notebook:
            return None
        function = self._analysis.function_of(self._module, scopes)
        joined: dict[str, Value] = {}
        modes: list[Fact] = []
        for module, site in self._calls(node.name):
            record = record_of(self._run(module, site).seen, site, node)
            if record is None or not any(is_at_risk(each, record[2]) for each in record[1].values()):
                continue
            _, arguments, mode = record
            rests = called_at(function, module, site)
            for key, value in self._analysis.parameters.bound(function, None, arguments).items():
                value = value if isinstance(value, Instance) else resting_on(value, rests)
                joined[key] = join(joined.get(key, NOTHING), value)
            modes.append(mode)
        if not modes:
            return None
        return Risky(joined, self._analysis.mode_of(function, common_mode(modes)))

    def _calls(self, name: str) -> Iterator[tuple[Module, Site]]:
        """The calls by this name, ordered by file and place."""
        repository = self._module.project.repositories.around(self._module.folder)
        own = os.path.abspath(self._module.filename)
        paths = [] if repository is None else [each for each in repository.naming(name, _CALLED) if each != own]
        if len(paths) > MAX_FILES:
            return
        count = 0
        for path in sorted(paths):
            module = self._module.project.module_at(path_of_module(path))
            if module is None or not may_hold_risks(module.source.text):
                continue
            rows = module.source.rows_with_name(name)
            for site in find_calls(module.source, rows, lambda call: last_name(call.func) == name):
                count += 1
                if count > MAX_CALLS:
                    return
                yield module, site
