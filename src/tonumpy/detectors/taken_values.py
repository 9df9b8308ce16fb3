"""The missing conversions at sites where a tensor is taken for its values, by observed values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tonumpy.conversions import Container, TakenTensor
from tonumpy.detectors.arguments import spelt
from tonumpy.detectors.registry import Search
from tonumpy.detectors.taken.places import find_taken
from tonumpy.detectors.taken.table import (
    ENDING,
    OF_AXES,
    WRITERS_OF_JSON,
    WRITERS_OF_TEXT,
    Place,
    confidence_in,
    methods,
    table,
)
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.names.bindings import is_name
from tonumpy.engine.names.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members, weaker
from tonumpy.text.candidates import OperationSite, Site
from tonumpy.text.syntax import walk

KIND = "taken"
GIVES_WAY = True

_GIVEN = (Reason.PARAMETER, Reason.ITEM_OF_GIVEN, Reason.ATTRIBUTE, Reason.METHOD)
_MADE_OF_GIVEN = (*_GIVEN, Reason.PART_OF_RESULT)
_OF_OTHERS = (*_GIVEN, Reason.ITEM, Reason.CONTENT)  # reasons of values that other callers may pass, in a list too
_DICTS = ("collections.defaultdict", "collections.Counter", "collections.OrderedDict")
_OF_ONE = ("builtins", "collections", "csv", "statistics")  # they take one value at a time
_DEEPEST = 4  # nesting of lists and dicts
_HELD_IN: dict[str, Container] = {"items": "list", "values": "dict", "rows": "list", "table": "list", "lists": "dict"}


class _Given(NamedTuple):
    """A tensor, and the table's word for its form: by itself, or in a list or dict."""

    tensor: v.Tensor
    given: str


def find(search: Search) -> list[TakenTensor]:
    """The tensors that are taken for their values, in the order of the text; one per site."""
    module, risks = search.module, search.risks
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    sites = find_taken(module.source, risks)
    observed = observe(module, sites) if sites else {}
    pairs = ((site, observed.get(id(site.call))) for site in sites)
    found = (next(_taken_at(site, seen), None) for site, seen in pairs if seen is not None)
    return [each for each in found if each is not None]


def _taken_at(site: Site | OperationSite, seen: Observation) -> Iterator[TakenTensor]:
    node = site.call
    if isinstance(node, ast.Call):
        yield from _in_call(site, node, seen)
    elif isinstance(node, ast.Compare):
        yield from _in_comparison(site, node, seen)
    elif isinstance(node, ast.Subscript):
        yield from _in_subscript(site, node, seen)
    elif isinstance(node, ast.SetComp):
        outcomes = {"number": _outcomes("builtins", "{x for x in t}")["tensor"]}
        yield from _made(site, node.elt, seen.receiver, outcomes, "builtins")


def _outcomes(library: str, text: str) -> dict[str, str]:
    """The outcomes of an operation, by the form of the tensor."""
    return table().operations.get(library, {}).get(text, {})


def _in_call(site: Site | OperationSite, call: ast.Call, seen: Observation) -> Iterator[TakenTensor]:
    """The findings at a call of a function, or of a method of a library's or builtin object."""
    receiver, name = seen.receiver, call.func.attr if isinstance(call.func, ast.Attribute) else ""
    library = _library_of(receiver)
    if isinstance(receiver, v.Symbol):
        yield from _in_function(site, call, seen, f"{receiver.name}.{name}" if name else receiver.name)
    elif _is_counter(receiver) and name == "update":
        yield from _by_place(site, call, seen, "collections", table().functions["collections.Counter"])
    elif not seen.arguments.positional or not call.args:
        return
    elif library:
        yield from _by_place(site, call, seen, library, methods().get(library, {}).get(name, ()))
        outcomes = _outcomes(library, f"a.{name}(t)")
        yield from _made(site, call.args[0], seen.arguments.positional[0], outcomes, library)
    elif isinstance(receiver, v.Sequence) or _is_dict(receiver):
        outcomes = _outcomes("builtins", f"a.{name}(t)") or _outcomes("builtins", f"a.{name}(t, 1)")
        of_pairs = _outcomes("builtins", f"a.{name}((t, 1))") or _outcomes("builtins", f"a.{name}(t, 1)")
        is_put = name in ("add", "discard", "setdefault")
        yield from _as_key(site, call.args[0], seen.arguments.positional[0], outcomes, of_pairs, is_put=is_put)


def _in_function(
    site: Site | OperationSite, call: ast.Call, seen: Observation, full_name: str
) -> Iterator[TakenTensor]:
    library, _, function = full_name.partition(".")
    has_axis = len(call.args) > 1 or any(each.arg == "axis" for each in call.keywords)
    if full_name not in OF_AXES or not has_axis:
        ending = ENDING if function in WRITERS_OF_TEXT else ""  # calls without `default=str` are no sites
        yield from _by_place(site, call, seen, library, table().functions.get(full_name + ending, ()))


def _as_key(
    site: Site | OperationSite,
    node: ast.expr,
    key: v.Value,
    outcomes: dict[str, str],
    of_pairs: dict[str, str],
    *,
    is_put: bool = False,
    is_not: bool = False,
) -> Iterator[TakenTensor]:
    """The findings for a key of a dict or set; `of_pairs`: the outcomes for the first tensor in a tuple."""
    for at, each in enumerate(key.items or () if isinstance(key, v.Sequence) else ()):
        tensor = _tensor(each)
        if tensor is not None and not tensor.requires_grad:
            part = node.elts[at] if isinstance(node, ast.Tuple) else node
            yield from _made(site, part, each, of_pairs, "builtins", is_put=is_put, is_not=is_not, is_part=True)
            return
    yield from _made(site, node, key, outcomes, "builtins", is_put=is_put, is_not=is_not)


def _by_place(
    site: Site | OperationSite, call: ast.Call, seen: Observation, library: str, places: tuple[Place, ...]
) -> Iterator[TakenTensor]:
    given = [*zip(call.args, seen.arguments.positional, strict=False)]
    if any(isinstance(node, ast.Starred) for node in call.args):
        given = []
    for place in places:
        if place.position is not None and place.position < len(given):
            node, value = given[place.position]
            yield from _made(site, node, value, place.outcomes, library)
        for keyword in call.keywords:
            if keyword.arg is not None and place.name in (keyword.arg, "**"):
                value_named = seen.arguments.named_value(keyword.arg)
                if value_named is not None:
                    yield from _made(site, keyword.value, value_named, place.outcomes, library)


def _in_comparison(site: Site | OperationSite, node: ast.Compare, seen: Observation) -> Iterator[TakenTensor]:
    """The findings at `frame["label"] == label`, on either side, and `label in seen`."""
    left, right, operator = seen.receiver, seen.arguments.positional[0], node.ops[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        is_not = isinstance(operator, ast.NotIn)
        if library := _library_of(right):
            yield from _made(site, node.left, left, _outcomes(library, "t in a"), library, is_not=is_not)
        elif _is_dict(right) or (isinstance(right, (v.Sequence, v.Unknown)) and _is_set(node.comparators[0], site)):
            outcomes, of_pairs = _outcomes("builtins", "t in a"), _outcomes("builtins", "(t, 1) in a")
            yield from _as_key(site, node.left, left, outcomes, of_pairs, is_not=is_not)
        return
    symbol = "==" if isinstance(operator, ast.Eq) else "!="
    for one, other, argument, text in (
        (left, right, node.comparators[0], f"a {symbol} t"),
        (right, left, node.left, f"t {symbol} a"),
    ):
        library = _library_of(one)
        if library and library != "numpy":  # TNP108 reports arrays
            yield from _made(site, argument, other, _outcomes(library, text), library)


def _in_subscript(site: Site | OperationSite, node: ast.Subscript, seen: Observation) -> Iterator[TakenTensor]:
    key, *put = seen.arguments.positional
    owner = _as_given_in_sight(seen.receiver)
    if _is_dict(seen.receiver):  # a read only of a defaultdict, see places.py
        outcomes, of_pairs = _outcomes("builtins", "a[t] = 9"), _outcomes("builtins", "a[t, 1] = 9")
        is_put = not isinstance(site.statement, ast.AugAssign)
        yield from _as_key(site, node.slice, key, outcomes, of_pairs, is_put=is_put)
    elif isinstance(owner, v.NonTensor) and owner.what.startswith("pandas.") and put and v.is_text(key):
        value = getattr(site.statement, "value", node)
        yield from _made(site, value, put[0], _outcomes("pandas", "a['n'] = t"), "pandas")


def _made(
    site: Site | OperationSite,
    node: ast.expr,
    value: v.Value,
    outcomes: dict[str, str],
    library: str,
    *,
    is_not: bool = False,
    is_put: bool = False,
    is_part: bool = False,
) -> Iterator[TakenTensor]:
    """Yield a finding if a tensor is given for which the table has an outcome that is surely unintended."""
    if not outcomes:
        return
    held = _given(value) or (_given_deep(value) if library in WRITERS_OF_JSON else None)
    word = "" if held is None else _word(held, outcomes)
    if held is None or not word or _is_meant(held, word, library):
        return
    tensor = held.tensor
    is_whole = held.given == "number" and tensor.dimensions is None and library not in _OF_ONE
    is_of_tuple = is_part and not _stands_in_tuple(node, site.call)
    yield TakenTensor(
        site=site,
        certainty=tensor.certainty,
        chain=chain_of(node),
        on_cpu=tensor.on_cpu,
        requires_grad=tensor.requires_grad,
        evidence=tensor.evidence,
        function=spelt(site.call.func if isinstance(site.call, ast.Call) else site.call),
        argument=node,
        word=word,
        given="tensor" if is_whole else held.given,
        library=library,
        # The same object may be looked up under that key.
        sureness="medium" if is_put else "high",
        is_not=is_not,
        of_items="tuple" if is_of_tuple else _HELD_IN.get(held.given),
    )


def _stands_in_tuple(node: ast.expr, call: ast.AST) -> bool:
    return any(node in each.elts for each in walk(call) if isinstance(each, ast.Tuple))


def _word(held: _Given, outcomes: dict[str, str]) -> str:
    """The word for the outcome, "" if there is none; an item of a tensor may be a number or a tensor."""
    word = outcomes.get(held.given, "")
    is_sure = held.given != "number" or held.tensor.dimensions == 0
    return word or ("" if is_sure else outcomes.get("tensor", ""))


def _is_meant(held: _Given, word: str, library: str) -> bool:
    """True if the outcome may be intended: text for people, keys that are parameters or tensors of a list, and tensors
    of several numbers kept as objects, as arrays are too."""
    tensor = held.tensor
    if tensor.certainty == "possible" or confidence_in(word, library) == "low":
        return True
    if library in ("builtins", "collections"):
        is_whole = held.given == "items" and not (tensor.is_item or tensor.dimensions == 0)
        return tensor.param_taint or bool(tensor.requires_grad) or is_whole
    return word == "objects" and tensor.dimensions != 0


# What a value holds.


def _given(value: v.Value) -> _Given | None:
    """The given tensor, by itself or in a list or dict."""
    tensor = _tensor(value)
    if tensor is not None:
        return _Given(tensor, _form_of(tensor))
    if isinstance(value, v.Sequence):
        return _given_in_list(value)
    return _in_mapping(value)


def _given_deep(value: v.Value, depth: int = 0) -> _Given | None:
    """The first tensor in nested lists and dicts."""
    if (tensor := _tensor(value)) is not None:
        return _Given(tensor, "values")
    for held in members(value) if depth < _DEEPEST else ():
        items = held.values() if isinstance(held, v.Mapping) else ()
        if isinstance(held, v.Sequence):
            items = (*(held.items or ()), held.element)
        for each in items:
            if (found := _given_deep(each, depth + 1)) is not None:
                return found
    return None


def _form_of(tensor: v.Tensor) -> str:
    """The table's word for the form of a tensor by itself."""
    is_mask = tensor.dtype == "bool"  # `scores.squeeze(1) > 0.5`: the operand may have dimensions
    if tensor.dimensions == 0 or (tensor.dimensions is None and (tensor.is_item or (tensor.is_number and not is_mask))):
        return "number"
    return "mask" if is_mask else "tensor"


def _given_in_list(value: v.Sequence) -> _Given | None:
    """The tensor that is an item of a list, or is in a list or dict there."""
    if (inner := _tensor_among(value)) is not None:
        return _Given(inner, "items")
    for each in (part for item in (*(value.items or ()), value.element) for part in members(item)):
        if isinstance(each, v.Sequence) and (inner := _tensor_among(each)) is not None:
            return _Given(inner, "table")
        if (found := _in_mapping(each)) is not None:
            return found._replace(given="rows")
    return None


def _tensor_among(held: v.Sequence) -> v.Tensor | None:
    """The first tensor without dimensions among the items of a list, else the first tensor; other items do not
    count."""
    items = (*(held.items or ()), held.element)
    unnamed = (v.Union(tuple(each for each in members(item) if not v.is_text(each))) for item in items)
    found = [tensor for each in unnamed if (tensor := _tensor(each)) is not None]
    return next((each for each in found if each.dimensions == 0), found[0] if found else None)


def _in_mapping(value: v.Value | None) -> _Given | None:
    """The first tensor among the values of a dict, or in a list there."""
    for each in value.values() if isinstance(value, v.Mapping) else ():
        if (tensor := _tensor(each)) is not None:
            return _Given(tensor, "values")
        if isinstance(each, v.Sequence) and (inner := _tensor(each.element)) is not None:
            return _Given(inner, "lists")
    return None


def _tensor(value: v.Value) -> v.Tensor | None:
    """The tensor that a value surely is, or likely, if an unknown member comes from other callers; numbers and None
    among its members do not count."""
    tensors = [each for each in members(value) if isinstance(each, v.Tensor)]
    others = [each for each in members(value) if not isinstance(each, v.Tensor) and not _is_plain(each)]
    if len(tensors) != 1 or not all(isinstance(each, v.Unknown) and each.reason in _OF_OTHERS for each in others):
        return None
    return tensors[0]._replace(certainty=weaker(tensors[0].certainty, "likely")) if others else tensors[0]


def _is_plain(value: v.Value) -> bool:
    return v.is_number(value) or (isinstance(value, v.Constant) and value.value is None)


# The object or function that takes it.


def _library_of(value: v.Value) -> str:
    """The root name of the library of an object; "" if unknown."""
    value = _as_given_in_sight(value)
    name = value.what if isinstance(value, v.NonTensor) else value.name if isinstance(value, v.LibraryObject) else ""
    root = name.partition(".")[0]
    return root if "." in name and (root in table().operations or root in methods()) else ""


def _as_given_in_sight(value: v.Value) -> v.Value:
    """The one member of a value that is not passed by unknown callers; the value itself if there is not exactly one."""
    known = [each for each in members(value) if not (isinstance(each, v.Unknown) and each.reason in _MADE_OF_GIVEN)]
    return known[0] if len(known) == 1 else value


def _is_dict(value: v.Value) -> bool:
    name = value.name if isinstance(value, v.LibraryObject) else ""
    return isinstance(value, v.Mapping) or name in _DICTS or _is_counter(value)


def _is_counter(value: v.Value) -> bool:
    return isinstance(value, v.NonTensor) and value.what == "Counter"


def _is_set(node: ast.expr, site: Site | OperationSite) -> bool:
    """True by the spelling: a set display or call, or a name or attribute that is assigned nothing but sets."""
    given: list[ast.expr] = [node]
    if isinstance(node, ast.Attribute):
        bodies = (each.body for each in walk(site.scopes[0]) if isinstance(each, ast.ClassDef))
        of_classes = (value for body in bodies for value in stored_in(body, node.attr))
        given = [*stored_in_attributes(site.scopes[0], node.attr), *of_classes]
    elif isinstance(node, ast.Name):
        given = next(filter(None, (stored_in(scope.body, node.id) for scope in reversed(site.scopes))), [])
    return bool(given) and all(map(_makes_set, given))


def _makes_set(node: ast.expr) -> bool:
    """True for `set()`, and for a dataclass's `field(default_factory=set)`."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(ast.Name("set" | "frozenset")):
            return True
        case ast.Call(ast.Name("field") | ast.Attribute(attr="field")):
            return any(each.arg == "default_factory" and is_name(each.value, "set") for each in node.keywords)
    return False
