"""From a source to the calls, comparisons, indices and assignments in which a tensor may be taken for values.

By spelling, then by where a tensor may flow (risk_flow.py): most files have none.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import root_name
from tonumpy.sinks.risk_flow import TENSOR
from tonumpy.sinks.shapes import may_be_a_tensor_or_mask
from tonumpy.sinks.taken import text_writers
from tonumpy.sinks.taken.key_places import (
    METHODS_OF_KEYS,
    PLAIN_LOOPS,
    dicts_of_defaults,
    places_of,
    rows_of_keys,
)
from tonumpy.sinks.taken.table import confidence_in, table
from tonumpy.text import candidates
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.sinks.risk_flow import RiskFlow
    from tonumpy.sinks.taken.table import Place
    from tonumpy.text.candidates import OperationSite, Site
    from tonumpy.text.source import Source

_KINDS = (ast.Compare, ast.Subscript, ast.SetComp, ast.DictComp)
_OPERATORS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
# Tables whose comparisons and indices take a tensor for one object.
_TABLES = re.compile(r"^[ \t]*(?:import[ \t][^\n#]*\b|from[ \t]+)(?:pandas|xarray)\b", re.MULTILINE)
_COMPARED = re.compile(r"[=!]=|\.iloc\[|\][ \t]*=(?!=)|\bif\b.*\bin\b")
# What a set or dict is made of one by one, each its own key: `{label: 1 for label in labels}`.
_COMPREHENSION = re.compile(
    r"\{[ \t]*(\w+)[ \t]*(?::[^{}\n]*)?[ \t]for[ \t]+[^\n]*?\bin[ \t]+(?!range\b|os\b|sorted\b)([^\n]*)"
)
_OF_PYTHON = ("set", "frozenset")  # other objects have such methods
_OF_EVERY_DICT = frozenset((*METHODS_OF_KEYS, "union", "map"))
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")


def find_taken(source: Source, risks: Callable[[], RiskFlow], *, with_text: bool) -> list[Site | OperationSite]:
    """The places at which a tensor may be taken for values; `with_text`: also where it is text for people."""
    roots = frozenset(root for root in _roots() if root in source.text)
    names, keys = _names_called(roots, with_text), rows_of_keys(source)
    return [*_calls(source, names, keys, risks), *_operations(source, keys, risks)]


def _calls(source: Source, names: frozenset[str], keys: set[int], risks: Callable[[], RiskFlow]) -> Iterator[Site]:
    """Of functions of these names, and where a key is looked for."""
    called = {row for name in names - _OF_EVERY_DICT for each in _spelt(name) for row in _rows_with(f"{each}(", source)}
    called.update(_rows_with("dict(zip(", source))
    if "set()" in source.text or "=set)" in source.text or "Counter(" in source.text:
        called.update(_rows_with(".update(", source))
    if rows := sorted(called | keys):
        for site in candidates.find_calls(source, rows, lambda call: _is_called(call, names)):
            if _is_writer_of_numbers(site):
                continue
            if _may_be_given(site, risks):
                yield site


def _operations(source: Source, keys: set[int], risks: Callable[[], RiskFlow]) -> Iterator[OperationSite]:
    """On the tables of a module that has such, and on keys."""
    operated = _COMPARED.finditer(source.text) if _TABLES.search(source.text) else ()
    made = {source.position_at(each.start()).row for each in _comprehensions(source)}
    if rows := sorted(keys.union(made, (source.position_at(each.start()).row for each in operated))):
        of_defaults = dicts_of_defaults(source)
        for site in candidates.find_operations(source, rows, _KINDS, lambda node: _is_meant(node, of_defaults)):
            if (site.node.lineno in keys or not _has_other_key(site.node)) and _may_be_taken(site, risks):
                yield site


def _comprehensions(source: Source) -> Iterator[re.Match[str]]:
    for match in _COMPREHENSION.finditer(source.text):
        if not any(word in match[2] for word in PLAIN_LOOPS):
            yield match


@cache
def _roots() -> frozenset[str]:
    """The libraries of the table, but for Python's own functions."""
    return frozenset(name.partition(".")[0] for name in (*table().functions, *table().operations)) - {"builtins"}


@cache
def _names_called(roots: frozenset[str], with_text: bool) -> frozenset[str]:
    """The last parts of the names; those of NumPy, which tensors have too, behind a dot."""
    found = set(METHODS_OF_KEYS)
    for name, places in table().functions.items():
        library = name.partition(".")[0]
        is_sought = library in roots or library == "builtins"
        if is_sought and (with_text or any(_is_no_text(place, library) for place in places)):
            last = re.split("[.#]", name.removesuffix(text_writers.ENDING))[-1]
            found.add(f".{last}" if library == "numpy" else last)
    operations = " ".join(text for library in roots for text in table().operations.get(library, ()))
    return frozenset(found.union(re.findall(r"\ba\.(\w+)\(", operations)))


def _is_no_text(place: Place, library: str) -> bool:
    return any(confidence_in(word, library) != "low" for word in place.outcomes.values())


def _spelt(name: str) -> tuple[str, ...]:
    return (f"np{name}", f"numpy{name}") if name[0] == "." else (name,)


def _is_called(call: ast.Call, names: frozenset[str]) -> bool:
    name = last_name(call.func) or ""
    if name in _OF_PYTHON and not isinstance(call.func, ast.Name):
        return False
    if name == "dict":
        return _is_given_pairs(call)
    if name == "update":
        return len(call.args) == 1 and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call))
    return name in names or (f".{name}" in names and root_name(call.func) in ("np", "numpy"))


def _is_given_pairs(call: ast.Call) -> bool:
    """`dict(zip(labels, names))`."""
    return bool(call.args) and isinstance(call.args[0], ast.Call) and last_name(call.args[0].func) == "zip"


def _rows_with(words: str, source: Source) -> Iterator[int]:
    """The rows in which a text stands that no letter stands before."""
    for at in places_of(words, source.text):
        if words[0] in ".[" or source.text[at - 1] not in _LETTERS:
            yield source.position_at(at).row


def _is_meant(node: ast.AST, of_defaults: set[str]) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], _OPERATORS)
    if isinstance(node, (ast.SetComp, ast.DictComp)):
        key = node.elt if isinstance(node, ast.SetComp) else node.key
        return isinstance(key, ast.Name) and not (isinstance(node, ast.DictComp) and _is_key_in(key.id, node.value))
    assert isinstance(node, ast.Subscript)
    is_store = isinstance(node.ctx, ast.Store)
    is_key = isinstance(node.slice, ast.Name) and last_name(node.value) in of_defaults
    return is_store or is_key or (isinstance(node.value, ast.Attribute) and node.value.attr == "iloc")


def _is_key_in(name: str, node: ast.expr) -> bool:
    """Whether something is asked for what it has under this key, as no tensor is: `{name: shapes[name] for ...}`."""
    parts = (each.slice for each in walk(node) if isinstance(each, ast.Subscript))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _has_other_key(node: ast.AST) -> bool:
    """Whether something is put under a key that is no text: no column of a table, nor a row."""
    is_put = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return is_put and not isinstance(node.slice, ast.Constant) and last_name(node.value) != "loc"  # type: ignore[attr-defined]


def _is_writer_of_numbers(site: Site) -> bool:
    is_writer = last_name(site.call.func) in text_writers.NAMES
    return is_writer and not text_writers.writes_text(site.call, site.scopes[0])


def _may_be_given(site: Site, risks: Callable[[], RiskFlow]) -> bool:
    if last_name(site.call.func) in METHODS_OF_KEYS:
        return _reaches(site.call.args[:1], site, risks)
    given = (*site.call.args, *(each.value for each in site.call.keywords))
    return _reaches(given, site, risks)


def _may_be_taken(site: OperationSite, risks: Callable[[], RiskFlow]) -> bool:
    node = site.node
    if isinstance(node, ast.Compare):
        sides = (node.left, node.comparators[0])
        return not any(isinstance(each, ast.Constant) for each in sides) and _reaches(sides, site, risks)
    if isinstance(node, (ast.SetComp, ast.DictComp)):
        return _reaches([each.iter for each in node.generators], site, risks)
    assert isinstance(node, ast.Subscript)
    if isinstance(node.ctx, ast.Store):
        value = site.statement.value if isinstance(site.statement, (ast.Assign, ast.AugAssign)) else None
        return _reaches([node.slice if _has_other_key(node) or value is None else value], site, risks)
    return _reaches((node.slice,), site, risks)


def _reaches(nodes: Iterable[ast.expr], site: Site | OperationSite, risks: Callable[[], RiskFlow]) -> bool:
    try:
        return any(may_be_a_tensor_or_mask(each) and risks().reaches(each, site.scopes, TENSOR) for each in nodes)
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return False
