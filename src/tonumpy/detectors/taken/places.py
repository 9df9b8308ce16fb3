"""Finds the calls, comparisons, indices and sets in which a tensor may be taken for its values.
First by spelling, then by possible flow of a tensor (possible_tensors.py): most files have none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.shapes import may_be_a_tensor_or_mask
from tonumpy.detectors.taken.table import ENDING, WRITERS_OF_TEXT, confidence_in, table
from tonumpy.text import candidates
from tonumpy.text.candidates import OperationSite, Site
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.source import Source
from tonumpy.text.syntax import walk

_KINDS = (ast.Compare, ast.Subscript, ast.SetComp)
# Libraries whose table comparisons treat a tensor as one object.
_TABLES = re.compile(r"^[ \t]*(?:import[ \t][^\n#]*\b|from[ \t]+)(?:pandas|xarray)\b", re.MULTILINE)
_METHODS_OF_KEYS = frozenset("get setdefault pop add discard".split())
# Functions that return numbers or names, or iterate over them.
_PLAIN = frozenset(
    "items keys values parameters state_dict tolist numpy range sorted item int named_parameters named_buffers"
    " named_modules named_children".split()
)
_NO_KEYS = frozenset("_ name key epoch step self param module int float str bool dtype device __class__".split())
_NO_KEYS_BY_KIND = (ast.JoinedStr, ast.Slice, ast.BinOp, ast.List, ast.Subscript, ast.Constant, ast.Compare)
_MAKERS = frozenset("defaultdict Counter OrderedDict field to_dict".split())


def find_taken(source: Source, risks: PossibleTensors) -> list[Site | OperationSite]:
    """The sites at which a tensor may be taken for its values."""
    spelling = _Spelling(source, risks.nodes.given)
    wanted = {id(each): each.lineno for each in risks.nodes.of(ast.Call, *_KINDS) if spelling.tells(each)}
    rows = sorted(set(wanted.values()))
    calls = candidates.find_calls(source, rows, lambda call: id(call) in wanted)
    operations = candidates.find_operations(source, rows, _KINDS, lambda node: id(node) in wanted)
    sites: list[Site | OperationSite] = [*calls, *operations]
    return [each for each in sites if _may_be_given(each, risks)]


class _Spelling:
    """The spelling tests of one source, by its names of keys and containers."""

    def __init__(self, source: Source, given: dict[str, list[ast.expr]]) -> None:
        roots = {name.partition(".")[0] for name in (*table().functions, *table().operations)}
        self._called = _names_called(frozenset(each for each in roots if each == "builtins" or each in source.text))
        names_tables = "pandas" in source.text or "xarray" in source.text
        self._has_tables = names_tables and _TABLES.search(source.text) is not None
        self._has_counters = "Counter(" in source.text
        self._has_defaults = "defaultdict" in source.text
        self._words = {*_METHODS_OF_KEYS, *WRITERS_OF_TEXT, "update", *(each.lstrip(".") for each in self._called)}
        self._given = given  # the values stored in names and attributes, by last part

    def tells(self, node: Any) -> bool:  # noqa: ANN401 -- a class is asked for each of thousands
        """True if a tensor may be taken for its values at a node, by its spelling."""
        kind = node.__class__
        if kind is ast.Call:
            return self._tells_call(node)
        if kind is ast.Compare:
            return len(node.ops) == 1 and self._tells_comparison(node, node.ops[0].__class__)
        if kind is ast.Subscript:
            return self._tells_subscript(node, node.value, node.slice)
        is_of_names = isinstance(node.elt, ast.Name) and len(node.generators) == 1
        return is_of_names and not _calls(node.generators[0].iter, _PLAIN)

    def _tells_comparison(self, node: ast.Compare, operator: type[ast.cmpop]) -> bool:
        if operator in (ast.Eq, ast.NotEq):
            return self._has_tables
        right = node.comparators[0]
        is_given = last_name(right) in self._given or isinstance(right, (ast.Call, ast.Subscript, ast.Set))
        return operator in (ast.In, ast.NotIn) and is_given and self._is_key(node.left, right)

    def _tells_subscript(self, node: ast.Subscript, holder: ast.expr, index: ast.expr) -> bool:
        if isinstance(node.ctx, ast.Store):
            return self._has_tables if isinstance(index, ast.Constant) else self._is_key(index, holder)
        if not self._has_defaults or not isinstance(index, ast.Name):
            return False
        # A defaultdict makes an item on each read: equal tensors get separate items.
        given = self._given.get(last_name(holder) or "", [])
        is_of_defaults = any(_calls(each, frozenset(("defaultdict",))) for each in given)
        return is_of_defaults and self._is_key(index, holder)

    def _tells_call(self, call: ast.Call) -> bool:
        name, function = last_name(call.func) or "", call.func
        if name not in self._words:
            return False
        if isinstance(function, ast.Attribute):
            if name in _METHODS_OF_KEYS:
                return bool(call.args) and self._is_key(call.args[0], function.value)
            if name in ("set", "frozenset"):
                return False  # other objects have such methods
        if name in WRITERS_OF_TEXT:
            return _writes_text(call)
        if name == "update":
            return self._has_counters and len(call.args) == 1
        is_of_numpy = last_name(getattr(function, "value", function)) in ("np", "numpy")
        return name in self._called or (is_of_numpy and f".{name}" in self._called)

    def _is_key(self, node: ast.expr, holder: ast.expr) -> bool:
        """True if an expression may be a key or a part of one, and its holder a dict or set by the values assigned to
        it."""
        given = self._given.get(last_name(holder) or "", [])
        if (
            last_name(node) in _NO_KEYS
            or isinstance(node, _NO_KEYS_BY_KIND)
            or (given and not any(map(_may_hold_keys, given)))
        ):
            return False
        return any(isinstance(each, ast.Name) and each.id not in _NO_KEYS for each in walk(node))


def _may_hold_keys(value: ast.expr | None) -> bool:
    match value:
        case ast.Call(function):
            return isinstance(function, ast.Name) or last_name(function) in _MAKERS
    return isinstance(value, (ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.IfExp, ast.BoolOp))


def _calls(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(each, ast.Call) and last_name(each.func) in names for each in walk(node))


def _writes_text(call: ast.Call) -> bool:
    """True for a call that writes unknown objects as text: `json.dump(x, file, default=str)`."""
    return any(each.arg == "default" and last_name(each.value) in ("str", "repr") for each in call.keywords)


@cache
def _names_called(roots: frozenset[str]) -> frozenset[str]:
    """The short names in the table; NumPy's have a leading dot, as tensors have some of them too."""
    found = set[str]()
    for name, places in table().functions.items():
        library = name.partition(".")[0]
        words = {word for place in places for word in place.outcomes.values()}
        if library in roots and any(confidence_in(word, library) != "low" for word in words):
            last = re.split("[.#]", name.removesuffix(ENDING))[-1]
            found.add(f".{last}" if library == "numpy" else last)
    operations = " ".join(text for library in roots for text in table().operations.get(library, ()))
    return frozenset(found.union(re.findall(r"\ba\.(\w+)\(", operations)) - {"map", "union", "assign", "update"})


def _may_be_given(site: Site | OperationSite, risks: PossibleTensors) -> bool:
    nodes: Sequence[ast.expr] = ()
    match site.call:
        case ast.Call(_, arguments, keywords):
            is_of_key = last_name(site.call.func) in _METHODS_OF_KEYS
            nodes = arguments[:1] if is_of_key else [*arguments, *(each.value for each in keywords)]
        case ast.Compare(left, _, [right]):
            nodes = () if isinstance(left, ast.Constant) or isinstance(right, ast.Constant) else (left, right)
        case ast.SetComp(_, [first]):
            nodes = (first.iter,)
        case ast.Subscript(_, ast.Constant()):
            nodes = (site.statement.value,) if isinstance(site.statement, ast.Assign) else ()
        case ast.Subscript(_, index):
            nodes = (index,)
    try:
        tensors = (each for each in nodes if may_be_a_tensor_or_mask(each))
        return any(risks.reaches(each, site.scopes, at_risk=False) for each in tensors)
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return False
