"""The calls of a module by whatever stands for a function: an item, an attribute, a variable that holds one."""

from __future__ import annotations

import ast
import builtins
import keyword
import re

from tonumpy.inference.index.bindings import Import
from tonumpy.inference.index.references import Reference
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.candidates import find_calls
from tonumpy.text.syntax import SCOPES

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module
    from tonumpy.text.candidates import Site

# `f(x)`, where `f` stands behind no dot; `fs[0](x)` and `make()(x)`; `self.f(x)`.
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(|[\])]\(|\.(\w+)\(")
_DEFINED = re.compile(r"\b(?:def|class|import|as)\s+(\w+)")
_WRITTEN = re.compile(r"\.(\w+)\s*(?::[^=\n]*)?=(?!=)")
_LAYER = re.compile(r"(?:torch\.)?nn\.[A-Z]\w*\(")
_NO_VARIABLES = frozenset(dir(builtins)).union(keyword.kwlist)


class IndirectCalls(NamedTuple):
    """Of one module; `holders` are the ids of the functions that they stand in."""

    calls: tuple[Reference, ...]
    holders: frozenset[int]


def indirect_calls(module: Module) -> IndirectCalls:
    return module.derived_of(_indirect_calls, "")


def _indirect_calls(module: Module, _: str) -> IndirectCalls:
    text = module.source.text
    no_variables = _NO_VARIABLES.union(_DEFINED.findall(text), _imported(module))
    written = frozenset(_WRITTEN.findall(text)) - no_variables

    def may_be_one(name: str | None, attribute: str | None) -> bool:
        return name not in no_variables if name else attribute is None or attribute in written

    def is_one(call: ast.Call) -> bool:
        if not call.args and not call.keywords:
            return False
        function = call.func
        if isinstance(function, ast.Name):
            return function.id not in no_variables
        if isinstance(function, ast.Attribute):
            return function.attr in written
        return isinstance(function, (ast.Subscript, ast.Call))

    begins = [match.start() for match in _CALLED.finditer(text) if may_be_one(*match.groups())]
    rows = sorted({module.source.position_at(start).row for start in begins})
    sites = find_calls(module.source, rows, is_one)
    sites = [each for each in sites if not _calls_layer(module, each)]
    calls = tuple(Reference(site.call, site.scopes, site.statement, is_attribute=False) for site in sites)
    return IndirectCalls(calls, frozenset(id(each.scopes[-1]) for each in calls))


def _calls_layer(module: Module, site: Site) -> bool:
    """Whether a variable is called that its scope gives nothing but a layer of torch: `model = nn.Linear(2, 2)`."""
    function, scope = site.call.func, site.scopes[-1]
    if not isinstance(function, ast.Name) or isinstance(scope, ast.Module):
        return False
    given = re.findall(rf"(?<![\w.]){function.id} *(?::[^=\n]*)?=(?!=) *([^\n]*)", module.text.of(scope))
    return bool(given) and all(map(_LAYER.match, given))


def _imported(module: Module) -> frozenset[str]:
    return frozenset(
        name
        for name, bindings in module.names.bindings.items()
        if all(isinstance(each, (Import, *SCOPES)) for each in bindings)
    )
