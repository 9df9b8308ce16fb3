"""Finds the results of functions that other libraries call and convert to arrays.
An optimizer accepts tensors, but raises for one that requires grad or is on an accelerator.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tonumpy.detectors.own import OwnSinks
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.shapes import Names, roots_of
from tonumpy.detectors.sink_calls import find_consumers
from tonumpy.engine.knowledge.callbacks import WORDS, caller_of, functions_given, words_of
from tonumpy.engine.names.bindings import names_in, parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.text import candidates
from tonumpy.text.candidates import ReturnSite, Scope, Site, class_around
from tonumpy.text.names import path_of
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, statements_of


def find_given(module: Module, risks: PossibleTensors) -> list[Site | ReturnSite]:
    """The sites that may pass a tensor to a function of another library, return one to SciPy, or pass one to a sink of
    the settings."""
    source = module.source
    found: list[Site | ReturnSite] = [*find_consumers(source, risks), *find_objectives(source, risks)]
    if not module.sinks:
        return found
    known = {id(site.call) for site in found}
    return [*found, *(site for site in OwnSinks(module).sites() if id(site.call) not in known)]


def find_objectives(source: Source, risks: PossibleTensors) -> list[ReturnSite]:
    """The `return` statements of functions that libraries call."""
    if not any(map(source.text.__contains__, WORDS)):
        return []
    names = risks.nodes.imported
    if not any(map(source.text.__contains__, words_of(roots_of(names)))):
        return []
    wanted = _returned_to_libraries(source, risks.nodes.of(ast.Call), names)
    sites = candidates.find_returns(source, sorted({each.lineno for each in wanted}), wanted.__contains__)
    return [
        each._replace(called_by=wanted[each.call])
        for each in sites
        if each.call.value is not None and risks.reaches(each.call.value, each.scopes)
    ]


def _returned_to_libraries(source: Source, calls: list[ast.Call], names: Names) -> dict[ast.Return, str]:
    """The `return` statements whose function a library calls, with the full name of the library's function."""
    called = {node: name for node in calls if (name := _called(node, names))}
    found: dict[ast.Return, str] = {}
    for site in candidates.find_calls(source, sorted({node.lineno for node in called}), called.__contains__):
        for function in _handed(site, called[site.call]):
            for each in _returns(function):
                found.setdefault(each, called[site.call])
    return found


def _called(call: ast.Call, names: Names) -> str:
    """The full name of the called function, if it calls its argument; else ""."""
    root, dot, rest = (path_of(call.func) or "").partition(".")
    name = f"{names[root]}{dot}{rest}" if root in names else ""
    return name if caller_of(name) is not None else ""


def _handed(site: Site, called: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    owner = class_around(site.scopes)
    around: tuple[Scope, ...] = tuple(scope for scope in site.scopes if not isinstance(scope, ast.ClassDef))
    for node in functions_given(site.call, called):
        scopes = around if isinstance(node, ast.Name) else () if owner is None else (owner,)
        name = node.id if isinstance(node, ast.Name) else (path_of(node) or "").removeprefix("self.")
        for scope in reversed(scopes):
            found = [each for each in statements_of(scope.body) if isinstance(each, FUNCTIONS) and each.name == name]
            if found:
                yield found[-1]
                break


def _returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Return]:
    """The `return` statements of a function; none if it tests other parameters than the first, as other callers may use
    it then."""
    names = parameter_names(function.args)
    others = frozenset(names[2 if names[:1] == ["self"] else 1 :])
    statements = list(statements_of(function.body))
    if any(not others.isdisjoint(names_in(each.test)) for each in statements if isinstance(each, ast.If)):
        return
    for statement in statements:
        if isinstance(statement, ast.Return) and statement.value is not None:
            yield statement
