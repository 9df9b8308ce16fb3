"""Finds the argument of a call, or the operand of an array operation, that passed a converted tensor, by the names that
held the tensor in the run."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from tonumpy.conversions import Container, Mixture, MixtureKind
from tonumpy.detectors.arguments import spelt
from tonumpy.detectors.consumers import Consumer, converting_arguments
from tonumpy.detectors.mixtures import mixture_of
from tonumpy.detectors.operator_sites import Operands, operands_of
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Sequence, Tensor, Value
from tonumpy.observed.sighting import Held, Sighting
from tonumpy.text.candidates import OperationSite
from tonumpy.text.names import spelling_of
from tonumpy.text.syntax import indices_of

_CONTAINERS: dict[str, Container] = {"items": "list", "values": "dict"}
_NO_TENSORS = (ast.Constant, ast.JoinedStr, ast.Lambda, ast.Compare)


class Given(NamedTuple):
    """The expression that passed the tensor. `of_items`: the kind of container, if its tensors are not written out one
    by one. `is_sure`: it is the tensor itself, not a container of it."""

    node: ast.expr
    of_items: Container | None
    is_sure: bool


def given_in(call: ast.Call, held: Held, consumer: Consumer | None, seen: Observation | None) -> list[Given]:
    """The arguments that passed the tensor: none if that cannot be told, several for the items of a list display."""
    arguments = list(_arguments(call, seen))
    named = dict(held)
    for node, _ in arguments:
        kind = _kind_of(node, named)
        if kind is not None:
            return _within(node, kind, named)
    converting = {id(each.node) for each in converting_arguments(call, consumer)} if consumer is not None else set()
    left = [each for each in arguments if _may_hold(each[0], named) and (not converting or id(each[0]) in converting)]
    if len(left) != 1:
        return []
    node, value = left[0]
    is_list = isinstance(value, Sequence) and is_surely_tensor(value.element)
    kind = "items" if is_list else "itself" if is_surely_tensor(value) else named.get("", "")
    return _within(node, kind, named)


def is_known(call: ast.Call, node: ast.expr, seen: Observation | None) -> bool:
    """True if inference shows that `node`, an argument or an item of one, is a tensor on every path: a run cannot rule
    out that other calls pass an array."""
    for argument, value in _arguments(call, seen):
        parts = _parts(argument)
        if argument is node or node in parts:
            items = value.items if isinstance(value, Sequence) else None
            if node in parts and items is not None and len(items) == len(parts):
                return is_surely_tensor(items[parts.index(node)])
            return is_surely_tensor(value.element if isinstance(value, Sequence) else value)
    return False


def is_surely_tensor(value: Value | None) -> bool:
    each_way = () if value is None else tuple(members(value))
    return bool(each_way) and all(isinstance(each, Tensor) and each.certainty != "possible" for each in each_way)


def _parts(node: ast.expr) -> list[ast.expr]:
    """The items of a list, tuple or dict display, or the element of a comprehension."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return [node.elt]
    return node.values if isinstance(node, ast.Dict) else []


def _arguments(call: ast.Call, seen: Observation | None) -> Iterator[tuple[ast.expr, Value | None]]:
    """Yield the positional arguments before any starred one, and the named ones, each with its inferred value."""
    given = itertools.takewhile(lambda node: not isinstance(node, ast.Starred), call.args)
    yield from zip(
        given, itertools.chain(seen.arguments.positional if seen else (), itertools.repeat(None)), strict=False
    )
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.value, seen.arguments.named_value(keyword.arg) if seen else None


def _within(node: ast.expr, kind: str, named: dict[str, str]) -> list[Given]:
    """The items of a display or comprehension that hold the tensor, or else the argument itself."""
    parts = _parts(node)
    found = [part for part in parts if _kind_of(part, named) == "itself"]
    left = found or [part for part in parts if _may_hold(part, named)]
    if (found or len(left) == 1) and not any(isinstance(part, ast.Starred) for part in left):
        return [Given(part, None, bool(kind or found)) for part in left]
    kind = kind or ("items" if isinstance(node, (ast.List, ast.Tuple)) else "")  # a display contains the tensor
    return [Given(node, _CONTAINERS.get(kind), kind == "itself" and not parts)]


def _kind_of(node: ast.expr, named: dict[str, str]) -> str | None:
    """How the expression holds the tensor, by its name, or as `batch[key]` of a container; None if it does not."""
    path = spelling_of(node)
    if path is not None and path in named:
        return named[path]
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Constant, ast.Slice)):
        return None
    return "itself" if named.get(spelling_of(node.value) or "") in _CONTAINERS else None


def _may_hold(node: ast.expr, named: dict[str, str]) -> bool:
    """False for an expression that cannot hold the tensor: a name must be among those that the run has recorded."""
    if isinstance(node, ast.Name):
        return node.id in named
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_may_hold(part, named) for part in node.elts)
    return not isinstance(node, _NO_TENSORS)


def mixed_in(site: OperationSite, sighting: Sighting, seen: Observation | None) -> Mixture | None:
    """The conversion of the operand that is the tensor; None if that cannot be told. Its `keeps_value` is True only if
    inference shows a tensor: other executions may have an array there."""
    operands = operands_of(site.node, site.statement)
    if operands is None:
        return None
    names = {name for held in sighting.held for name, kind in held if kind == "itself"}
    kind, node = _index(operands, names) if operands.key is not None else _operator(site.node, operands, names)
    if node is None:
        return None
    facts = sighting.facts
    if kind in ("index", "equality"):  # these two depend on the device only
        facts |= {"requires_grad": False, "dtype": None, "layout": None, "bit": None}
    keeps_value = kind in ("index", "put into array") and is_surely_tensor(_value_of_operand(operands, node, seen))
    function, chain = spelt(site.node), chain_of(node)
    return Mixture(
        site=site, function=function, argument=node, chain=chain, keeps_value=keeps_value, kind=kind, **facts
    )


def _operator(
    node: ast.expr | ast.AugAssign, operands: Operands, names: set[str]
) -> tuple[MixtureKind, ast.expr | None]:
    left, right = operands.left, operands.right
    assert right is not None
    second = spelling_of(right) in names and spelling_of(left) not in names
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return "equality", left  # an array compares what is looked for with its own items
    return mixture_of(node, is_array_first=second), right if second else left


def _index(operands: Operands, names: set[str]) -> tuple[MixtureKind, ast.expr | None]:
    """The kind and the node of the tensor in `array[index]` or `array[index] = value`; None if several may be it."""
    assert operands.key is not None
    parts = indices_of(operands.key)
    of_index = [part for part in parts if spelling_of(part) in names]
    if not of_index and operands.right is None:
        of_index = [part for part in parts if not isinstance(part, (ast.Constant, ast.Slice))]
    if of_index:
        return "index", of_index[0] if len(of_index) == 1 else None
    return "put into array", operands.right


def _value_of_operand(operands: Operands, node: ast.expr | ast.AugAssign, seen: Observation | None) -> Value | None:
    """The inferred value of the operand of an assignment to an item, or of an index; None for a part of an index."""
    if seen is None or operands.key is None:
        return None
    first, last = seen.arguments.positional[0], seen.arguments.positional[-1]
    if node is operands.right:
        return last
    index = last if operands.right is None else first
    return None if isinstance(operands.key, ast.Tuple) else index
