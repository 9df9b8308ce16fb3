"""From a source to the calls, comparisons, indices and assignments in which a tensor may be taken for values.

By spelling, then by where a tensor may flow (risk_flow.py): most files have none.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import bound_names, root_name
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.sinks.risk_flow import TENSOR
from tonumpy.sinks.shapes import may_be_a_tensor_or_mask
from tonumpy.sinks.taken import text_writers
from tonumpy.sinks.taken.table import confidence_in, table
from tonumpy.text import candidates
from tonumpy.text.names import last_name, path_of
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tonumpy.sinks.risk_flow import RiskFlow
    from tonumpy.sinks.taken.table import Place
    from tonumpy.text.candidates import OperationSite, Site
    from tonumpy.text.source import Source

_KINDS = (ast.Compare, ast.Subscript, ast.SetComp, ast.DictComp)
# Tables whose comparisons and indices take a tensor for one object.
_TABLES = re.compile(r"^[ \t]*(?:import[ \t][^\n#]*\b|from[ \t]+)(?:pandas|xarray)\b", re.MULTILINE)
_METHODS_OF_KEYS = frozenset("get setdefault pop add discard".split())
# What gives numbers or names, as the items of a loop too.
_PLAIN = frozenset(
    "items keys values parameters state_dict tolist numpy range sorted item int named_parameters named_buffers"
    " named_modules named_children".split()
)
_NO_KEYS = frozenset("_ name key epoch step self param module int float str bool".split())
_MAKERS = frozenset("defaultdict Counter OrderedDict field to_dict".split())


def find_taken(source: Source, risks: Callable[[], RiskFlow], *, with_text: bool) -> list[Site | OperationSite]:
    """The places at which a tensor may be taken for values; `with_text`: also where it is text for people."""
    roots = frozenset(root for root in _roots() if root in source.text)
    spelling = _Spelling(source, _names_called(roots, with_text))
    wanted = {id(each): each.lineno for each in spelling.nodes if isinstance(each, ast.expr) and spelling.tells(each)}
    rows = sorted(set(wanted.values()))
    calls = candidates.find_calls(source, rows, lambda call: id(call) in wanted)
    operations = candidates.find_operations(source, rows, _KINDS, lambda node: id(node) in wanted)
    given = [each for each in calls if not _is_writer_of_numbers(each) and _may_be_given(each, risks)]
    return [*given, *(each for each in operations if _may_be_taken(each, risks))]


class _Spelling:
    """What the names of a source say of keys, and of what holds them."""

    def __init__(self, source: Source, called: frozenset[str]) -> None:
        self._called = called
        self._has_tables = _TABLES.search(source.text) is not None
        self._has_sets = "set(" in source.text or "=set)" in source.text or "Counter(" in source.text
        self.nodes = [*walk(source.tree)]
        self._given: dict[str, list[ast.expr | None]] = {}  # to names and attributes, by their last parts
        self._no_keys = set(_NO_KEYS)
        for node in self.nodes:
            if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                # What is asked for what it gives is a dict: `for key in held: held[key]`.
                asked = (each for each in bound_names(node.target) if f"{path_of(node.iter)}[{each}]" in source.text)
                self._no_keys.update(asked)
            for store in stores_of(node) if isinstance(node, ast.stmt) else ():
                if store.how in ("whole", "part"):
                    self._given.setdefault(last_name(store.target) or "", []).append(store.value)

    def _is_key(self, node: ast.expr, holder: ast.expr) -> bool:
        """True if a name may be a key or a part of it, in what may be a dict or a set by what it is given anywhere."""
        is_other = isinstance(node, (ast.JoinedStr, ast.Slice, ast.BinOp, ast.List, ast.Subscript, ast.Constant))
        given = self._given.get(last_name(holder) or "", [])
        if is_other or (given and not any(map(_may_hold_keys, given))):
            return False
        return any(isinstance(each, ast.Name) and each.id not in self._no_keys for each in walk(node))

    def tells(self, node: ast.expr) -> bool:
        """True if a tensor may be taken for values at a node, by its spelling."""
        if isinstance(node, ast.Call):
            return self._tells_call(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.In, ast.NotIn)):
                return self._has_tables or self._is_key(node.left, node.comparators[0])
            return self._has_tables and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        if isinstance(node, (ast.SetComp, ast.DictComp)):
            key = node.elt if isinstance(node, ast.SetComp) else node.key
            is_asked = isinstance(node, ast.DictComp) and isinstance(key, ast.Name) and _is_key_in(key.id, node.value)
            return isinstance(key, ast.Name) and not is_asked and not _is_plain(node.generators[0].iter)
        return isinstance(node, ast.Subscript) and self._tells_subscript(node)

    def _tells_call(self, call: ast.Call) -> bool:
        name, function = last_name(call.func) or "", call.func
        if isinstance(function, ast.Attribute) and name in _METHODS_OF_KEYS:
            return bool(call.args) and self._is_key(call.args[0], function.value)
        if name in ("set", "frozenset") and isinstance(function, ast.Attribute):
            return False  # other objects have such methods
        if name == "dict":  # `dict(zip(labels, names))`
            return bool(call.args) and isinstance(call.args[0], ast.Call) and last_name(call.args[0].func) == "zip"
        if name in ("update", "union"):
            is_one = len(call.args) == 1 and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call))
            return self._has_sets and is_one
        return name in self._called or (f".{name}" in self._called and root_name(function) in ("np", "numpy"))

    def _tells_subscript(self, node: ast.Subscript) -> bool:
        is_column = isinstance(node.slice, ast.Constant) or last_name(node.value) == "loc"
        if isinstance(node.ctx, ast.Store):
            return self._has_tables if is_column else self._is_key(node.slice, node.value)
        if last_name(node.value) == "iloc":
            return self._has_tables
        # A dict whose items are made where one is read: equal keys have an item each.
        given = self._given.get(last_name(node.value) or "", [])
        is_of_defaults = any(_calls(each, frozenset(("defaultdict",))) for each in given if each is not None)
        return is_of_defaults and isinstance(node.slice, ast.Name) and self._is_key(node.slice, node.value)


def _may_hold_keys(value: ast.expr | None) -> bool:
    match value:
        case ast.Dict() | ast.DictComp() | ast.Set() | ast.SetComp() | ast.Call(ast.Name()):
            return True
        case ast.IfExp() | ast.BoolOp():
            return True
        case ast.Call(function):
            return last_name(function) in _MAKERS
    return False


def _is_plain(iterable: ast.expr) -> bool:
    return _calls(iterable, _PLAIN) or last_name(iterable) == "state_dict"


def _calls(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(each, ast.Call) and last_name(each.func) in names for each in walk(node))


@cache
def _roots() -> frozenset[str]:
    """The libraries of the table, but for Python's own functions."""
    return frozenset(name.partition(".")[0] for name in (*table().functions, *table().operations)) - {"builtins"}


@cache
def _names_called(roots: frozenset[str], with_text: bool) -> frozenset[str]:
    """The last parts of the names; those of NumPy, which tensors have too, behind a dot."""
    found = set[str]()
    for name, places in table().functions.items():
        library = name.partition(".")[0]
        is_sought = library in roots or library == "builtins"
        if is_sought and (with_text or any(_is_no_text(place, library) for place in places)):
            last = re.split("[.#]", name.removesuffix(text_writers.ENDING))[-1]
            found.add(f".{last}" if library == "numpy" else last)
    operations = " ".join(text for library in roots for text in table().operations.get(library, ()))
    return frozenset(found.union(re.findall(r"\ba\.(\w+)\(", operations)) - {"map"})


def _is_no_text(place: Place, library: str) -> bool:
    return any(confidence_in(word, library) != "low" for word in place.outcomes.values())


def _is_key_in(name: str, node: ast.expr) -> bool:
    """True if something is asked for what it has under this key, as no tensor is: `{name: shapes[name] for ...}`."""
    parts = (each.slice for each in walk(node) if isinstance(each, ast.Subscript))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _is_put_under_key(node: ast.Subscript) -> bool:
    """True if something is put under a key that is no text: no column of a table, nor a row."""
    return not isinstance(node.slice, ast.Constant) and last_name(node.value) != "loc"


def _is_writer_of_numbers(site: Site) -> bool:
    is_writer = last_name(site.call.func) in text_writers.NAMES
    return is_writer and not text_writers.writes_text(site.call, site.scopes[0])


def _may_be_given(site: Site, risks: Callable[[], RiskFlow]) -> bool:
    if last_name(site.call.func) in _METHODS_OF_KEYS:
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
        return _reaches([node.slice if _is_put_under_key(node) or value is None else value], site, risks)
    return _reaches((node.slice,), site, risks)


def _reaches(nodes: Iterable[ast.expr], site: Site | OperationSite, risks: Callable[[], RiskFlow]) -> bool:
    try:
        return any(may_be_a_tensor_or_mask(each) and risks().reaches(each, site.scopes, TENSOR) for each in nodes)
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return False
