"""From what a tensor may be taken for values in, and observed values, to the conversions that are missing there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.conversions import ImplicitConversion, Taken
from tonumpy.engine.interpreter.records import as_dict
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members, weaker
from tonumpy.engine.values.values import (
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    is_number,
    is_text,
)
from tonumpy.sinks.arguments import spelt
from tonumpy.sinks.taken import text_writers
from tonumpy.sinks.taken.holders import is_counter, is_dict, is_set, is_set_given
from tonumpy.sinks.taken.places import find_taken
from tonumpy.sinks.taken.table import OF_AXES, WRITERS_OF_JSON, confidence_in, methods, table
from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tonumpy.conversions import Container
    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.findings import Confidence
    from tonumpy.sinks.risk_flow import RiskFlow
    from tonumpy.sinks.taken.table import Place
    from tonumpy.text.candidates import OperationSite, Site

_GIVEN = (Reason.PARAMETER, Reason.ITEM_OF_GIVEN, Reason.ATTRIBUTE)
_MADE_OF_GIVEN = (*_GIVEN, Reason.METHOD, Reason.PART_OF_RESULT)
_OF_OTHERS = (*_GIVEN, Reason.ITEM, Reason.CONTENT, Reason.METHOD)  # what a list may hold that others are given, too
_OF_ONE = ("builtins", "collections", "csv", "statistics")  # take one value at a time
_DEEPEST = 4  # lists and dicts in each other
_HELD_IN: dict[str, Container] = {"items": "list", "values": "dict", "rows": "list", "table": "list", "lists": "dict"}


class _Given(NamedTuple):
    """A tensor, what the table calls it, and whether it stands in a list or dict."""

    tensor: Tensor
    given: str


def infer_taken(module: Module, risks: Callable[[], RiskFlow], *, with_text: bool) -> list[ImplicitConversion]:
    """Where a tensor is taken for values, in the order of the text; one for each place."""
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    sites = find_taken(module.source, risks, with_text=with_text)
    observed = observe(module, sites) if sites else {}
    found = []
    for site in sites:
        seen = observed.get(id(site.call))
        conversion = None if seen is None else next(_taken_at(site, seen), None)
        if conversion is not None:
            found.append(conversion)
    return found


def _taken_at(site: Site | OperationSite, seen: Observation) -> Iterator[ImplicitConversion]:
    if isinstance(site.call, ast.Call):
        yield from _in_call(site, site.call, seen)
    elif isinstance(site.call, ast.Compare):
        yield from _in_comparison(site, site.call, seen)
    elif isinstance(site.call, ast.Subscript):
        yield from _in_subscript(site, site.call, seen)
    elif isinstance(site.call, (ast.SetComp, ast.DictComp)):
        node, text = site.call, "{x for x in t}" if isinstance(site.call, ast.SetComp) else "{x: 1 for x in t}"
        key = node.elt if isinstance(node, ast.SetComp) else node.key
        yield from _made(site, key, seen.receiver, _of_items(text), "builtins")


def _outcomes(library: str, text: str) -> dict[str, str]:
    """What comes out of an operation, by what it is given."""
    return table().operations.get(library, {}).get(text, {})


def _of_items(text: str) -> dict[str, str]:
    """What comes out for a tensor's items, of an operation of Python's own that is given the tensor."""
    return {"number": _outcomes("builtins", text)["tensor"]}


def _in_call(site: Site | OperationSite, call: ast.Call, seen: Observation) -> Iterator[ImplicitConversion]:
    """A function by its full name, or a method of a library's object, or of one of Python's own."""
    receiver, name = seen.receiver, call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(receiver, Symbol):
        yield from _in_function(site, call, seen, f"{receiver.name}.{name}" if name else receiver.name)
    else:
        yield from _in_method(site, call, seen, name)


def _in_function(
    site: Site | OperationSite, call: ast.Call, seen: Observation, full_name: str
) -> Iterator[ImplicitConversion]:
    if full_name == "builtins.dict" and isinstance(call.args[0], ast.Call) and seen.arguments.positional:
        yield from _in_pairs(site, call.args[0], seen.arguments.positional[0])
    library, _, function = full_name.partition(".")
    if full_name in OF_AXES and (len(call.args) > 1 or any(each.arg == "axis" for each in call.keywords)):
        return
    if function in text_writers.NAMES:
        full_name += text_writers.ENDING  # others are no sites
    yield from _by_place(site, call, seen, library, table().functions.get(full_name, ()))


def _in_method(
    site: Site | OperationSite, call: ast.Call, seen: Observation, name: str
) -> Iterator[ImplicitConversion]:
    library = _library_of(seen.receiver)
    if library:
        yield from _by_place(site, call, seen, library, methods().get(library, {}).get(name, ()))
        if name == "assign":
            yield from _in_columns(site, call, seen, library)
    elif is_counter(seen.receiver) and name == "update":
        yield from _by_place(site, call, seen, "collections", table().functions["collections.Counter"])
        return
    elif isinstance(seen.receiver, Sequence) or is_dict(seen.receiver) or is_set_given(site, seen.receiver):
        library = "builtins"
    if library and seen.arguments.positional and call.args:
        yield from _by_first(site, call.args[0], seen.arguments.positional[0], name, library)


def _in_columns(
    site: Site | OperationSite, call: ast.Call, seen: Observation, library: str
) -> Iterator[ImplicitConversion]:
    """`frame.assign(loss=losses)`: each keyword names a column."""
    for keyword in call.keywords:
        value = None if keyword.arg is None else seen.arguments.named_value(keyword.arg)
        if value is not None:
            yield from _made(site, keyword.value, value, _outcomes(library, "a.assign(n=t)"), library)


def _in_pairs(site: Site | OperationSite, zipped: ast.Call, pairs: Value) -> Iterator[ImplicitConversion]:
    """`dict(zip(labels, names))`: the first of each pair is a key."""
    pair = pairs.element if isinstance(pairs, Sequence) else None
    if last_name(zipped.func) == "zip" and zipped.args and isinstance(pair, Sequence) and pair.items:
        outcomes = _of_items("dict(zip(t, t))")
        yield from _made(site, zipped.args[0], pair.items[0], outcomes, "builtins", is_whole=True)


def _by_first(
    site: Site | OperationSite, node: ast.expr, value: Value, method: str, library: str
) -> Iterator[ImplicitConversion]:
    """By what a method is given first, itself or as the one item of a list."""
    function = site.call.func if isinstance(site.call, ast.Call) else None
    if method == "update" and not (isinstance(function, ast.Attribute) and is_set(function.value, site)):
        return  # a dict takes pairs, and what else has such a method takes anything
    outcomes = _outcomes(library, f"a.{method}(t)") or _outcomes(library, f"a.{method}(t, 1)")
    if method == "isin" and isinstance(node, ast.List) and len(node.elts) == 1 and isinstance(value, Sequence):
        yield from _made(site, node.elts[0], value.element, outcomes, library)  # `frame.isin([label])`
    if library != "builtins":
        yield from _made(site, node, value, outcomes, library)
        return
    of_pairs = _outcomes(library, f"a.{method}((t, 1))") or _outcomes(library, f"a.{method}(t, 1)")
    yield from _as_key(site, node, value, outcomes, of_pairs, is_put=method in ("add", "discard", "setdefault"))


def _as_key(
    site: Site | OperationSite,
    node: ast.expr,
    key: Value,
    outcomes: dict[str, str],
    of_pairs: dict[str, str],
    *,
    is_put: bool = False,
    is_not: bool = False,
) -> Iterator[ImplicitConversion]:
    """By what stands as a key of a dict or set; `of_pairs`: what comes out where it is the first tensor in a tuple."""
    for at, each in enumerate(key.items or () if isinstance(key, Sequence) else ()):
        tensor = _tensor(each)
        if tensor is not None and not tensor.requires_grad:
            part = node.elts[at] if isinstance(node, ast.Tuple) else node
            yield from _made(site, part, each, of_pairs, "builtins", is_put=is_put, is_not=is_not, is_part=True)
            return
    yield from _made(site, node, key, outcomes, "builtins", is_put=is_put, is_not=is_not)


def _by_place(
    site: Site | OperationSite, call: ast.Call, seen: Observation, library: str, places: tuple[Place, ...]
) -> Iterator[ImplicitConversion]:
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


def _in_comparison(site: Site | OperationSite, node: ast.Compare, seen: Observation) -> Iterator[ImplicitConversion]:
    if not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        yield from _in_equality(site, node, seen)
        return
    # `label in seen`, where what it is looked for in is a library's object, or a dict or set
    left, right, is_not = seen.receiver, seen.arguments.positional[0], isinstance(node.ops[0], ast.NotIn)
    if library := _library_of(right):
        yield from _made(site, node.left, left, _outcomes(library, "t in a"), library, is_not=is_not)
    elif is_dict(right) or (isinstance(right, (Sequence, Unknown)) and is_set(node.comparators[0], site)):
        outcomes, of_pairs = _outcomes("builtins", "t in a"), _outcomes("builtins", "(t, 1) in a")
        yield from _as_key(site, node.left, left, outcomes, of_pairs, is_not=is_not)


def _in_equality(site: Site | OperationSite, node: ast.Compare, seen: Observation) -> Iterator[ImplicitConversion]:
    """`frame["label"] == label`, on either side."""
    left, right = seen.receiver, seen.arguments.positional[0]
    symbol = "==" if isinstance(node.ops[0], ast.Eq) else "!="
    for one, other, argument, text in (
        (left, right, node.comparators[0], f"a {symbol} t"),
        (right, left, node.left, f"t {symbol} a"),
    ):
        library = _library_of(one)
        if library and library != "numpy":  # of arrays TNP108 speaks
            yield from _made(site, argument, other, _outcomes(library, text), library)


def _in_subscript(site: Site | OperationSite, node: ast.Subscript, seen: Observation) -> Iterator[ImplicitConversion]:
    key, *put = seen.arguments.positional
    owner = _as_given_in_sight(seen.receiver)
    what = owner.what if isinstance(owner, NonTensor) else ""
    value = site.statement.value if isinstance(site.statement, ast.Assign) else None
    if is_dict(seen.receiver):  # one that is read has defaults, see places.py
        outcomes, of_pairs = _outcomes("builtins", "a[t] = 9"), _outcomes("builtins", "a[t, 1] = 9")
        is_put = not isinstance(site.statement, ast.AugAssign)
        yield from _as_key(site, node.slice, key, outcomes, of_pairs, is_put=is_put)
    elif isinstance(node.ctx, ast.Load):
        if what == "pandas.iloc":
            yield from _made(site, node.slice, key, _outcomes("pandas", "a.iloc[t]"), "pandas")
    elif value is None or not put:
        return
    elif what == "pandas.loc" and isinstance(put[0], (Sequence, Mapping)):
        # `frame.loc[len(frame)] = [step, loss]`: of new rows, as others raise
        outcomes = _outcomes("pandas", "a.loc[9] = [t, t]")
        given = "items" if isinstance(put[0], Sequence) else "values"
        yield from _made(site, value, put[0], {given: outcomes["number"]}, "pandas")
    elif what.startswith("pandas.") and is_text(key):
        yield from _made(site, value, put[0], _outcomes("pandas", "a['n'] = t"), "pandas")


def _made(
    site: Site | OperationSite,
    node: ast.expr,
    value: Value,
    outcomes: dict[str, str],
    library: str,
    *,
    is_not: bool = False,
    is_put: bool = False,
    is_whole: bool = False,
    is_part: bool = False,
) -> Iterator[ImplicitConversion]:
    held = _given(value) if outcomes else None
    if held is None and outcomes and library in WRITERS_OF_JSON:
        held = _given_deep(value)
    word = "" if held is None else _word(held, outcomes)
    if held is None or not word or _is_meant(held, word, library):
        return
    tensor = held.tensor
    # The same object may be looked for under that key.
    confidence: Confidence = "medium" if is_put else confidence_in(word, library)
    is_whole = is_whole or (held.given == "number" and tensor.dimensions is None and library not in _OF_ONE)
    yield ImplicitConversion(
        site,
        spelt(site.call.func if isinstance(site.call, ast.Call) else site.call),
        node,
        chain_of(node),
        tensor.certainty,
        tensor.on_cpu,
        requires_grad=tensor.requires_grad,
        of_items=_container_of(held, node, site, is_part=is_part),
        keeps_value=False,
        evidence=tensor.evidence,
        taken=Taken(word, "tensor" if is_whole else held.given, library, confidence, is_not),
    )


def _container_of(held: _Given, node: ast.expr, site: Site | OperationSite, *, is_part: bool) -> Container | None:
    """What the tensor is taken out of, where it does not itself stand at the place."""
    tuples = (each for each in walk(site.call) if isinstance(each, ast.Tuple))
    if is_part and not any(node in each.elts for each in tuples):
        return "tuple"
    return _HELD_IN.get(held.given)


def _word(held: _Given, outcomes: dict[str, str]) -> str:
    """For what comes out. The item of a tensor is a number, or a tensor."""
    word = outcomes.get(held.given, "")
    is_sure = held.given != "number" or held.tensor.dimensions == 0
    return word or ("" if is_sure else outcomes.get("tensor", ""))


def _is_meant(held: _Given, word: str, library: str) -> bool:
    """True if nothing need be wrong: parameters, and tensors of a list, are keys by what they are, and arrays of
    several numbers are kept as objects, too."""
    tensor = held.tensor
    if tensor.certainty == "possible":
        return True
    if library in ("builtins", "collections"):
        is_whole = held.given == "items" and not (tensor.is_item or tensor.dimensions == 0)
        return tensor.param_taint or bool(tensor.requires_grad) or is_whole
    return word == "objects" and tensor.dimensions != 0


def _given(value: Value) -> _Given | None:
    """The tensor that is given, itself or in what holds it."""
    tensor = _tensor(value)
    if tensor is not None:
        return _Given(tensor, _form_of(tensor))
    if isinstance(value, Sequence):
        return _given_in_list(value)
    return _in_mapping(value)


def _given_deep(value: Value, depth: int = 0) -> _Given | None:
    """The first tensor in lists and dicts that hold each other."""
    if (tensor := _tensor(value)) is not None:
        return _Given(tensor, "values")
    if depth == _DEEPEST:
        return None
    for held in members(value):
        items = held.values() if isinstance(held, Mapping) else ()
        if isinstance(held, Sequence):
            items = (*(held.items or ()), held.element)
        for each in items:
            if (found := _given_deep(each, depth + 1)) is not None:
                return found
    return None


def _form_of(tensor: Tensor) -> str:
    """What the table calls a tensor by itself."""
    is_mask = tensor.dtype == "bool"  # `scores.squeeze(1) > 0.5`: what is compared may have had dimensions
    if tensor.dimensions == 0 or (tensor.dimensions is None and (tensor.is_item or (tensor.is_number and not is_mask))):
        return "number"
    return "mask" if is_mask else "tensor"


def _given_in_list(value: Sequence) -> _Given | None:
    """The tensor that an item of a list is, or holds as a list or dict."""
    if (inner := _tensor_among(value)) is not None:
        return _Given(inner, "items")
    for each in (part for item in (*(value.items or ()), value.element) for part in members(item)):
        if isinstance(each, Sequence) and (inner := _tensor_among(each)) is not None:
            return _Given(inner, "table")
        if (found := _in_mapping(as_dict(each) if isinstance(each, Instance) else each)) is not None:
            return found._replace(given="rows")
    return None


def _tensor_among(held: Sequence) -> Tensor | None:
    """The first of the tensors in a list that has no dimensions, or the first; what else is in it does not count."""
    items = (*(held.items or ()), held.element)
    unnamed = (Union(tuple(each for each in members(item) if not is_text(each))) for item in items)
    found = [tensor for each in unnamed if (tensor := _tensor(each)) is not None]
    return next((each for each in found if each.dimensions == 0), found[0] if found else None)


def _in_mapping(value: Value | None) -> _Given | None:
    """A tensor among the values of a dict, or in a list there."""
    if not isinstance(value, Mapping):
        return None
    for each in value.values():
        if (tensor := _tensor(each)) is not None:
            return _Given(tensor, "values")
        if isinstance(each, Sequence) and (inner := _tensor(each.element)) is not None:
            return _Given(inner, "lists")
    return None


def _tensor(value: Value) -> Tensor | None:
    """The tensor that a value surely is, or likely, where others may give something else; numbers beside it do not
    count, nor the None that it was before."""
    tensors = [each for each in members(value) if isinstance(each, Tensor)]
    others = [each for each in members(value) if not isinstance(each, Tensor) and not _is_plain(each)]
    if len(tensors) != 1 or not all(isinstance(each, Unknown) and each.reason in _OF_OTHERS for each in others):
        return None
    return tensors[0]._replace(certainty=weaker(tensors[0].certainty, "likely")) if others else tensors[0]


def _is_plain(value: Value) -> bool:
    return is_number(value) or (isinstance(value, Constant) and value.value is None)


def _library_of(value: Value) -> str:
    """The library whose object it is; empty where that is not known."""
    value = _as_given_in_sight(value)
    name = value.what if isinstance(value, NonTensor) else value.name if isinstance(value, LibraryObject) else ""
    root = name.partition(".")[0]
    return root if "." in name and (root in table().operations or root in methods()) else ""


def _as_given_in_sight(value: Value) -> Value:
    """What a value is by the callers in sight, if that is one thing, whatever others may give."""
    known = [each for each in members(value) if not (isinstance(each, Unknown) and each.reason in _MADE_OF_GIVEN)]
    return known[0] if len(known) == 1 else value
