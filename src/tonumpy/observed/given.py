"""Finds the argument of a call, or the part of an operation on an array, by which a converted tensor came there, from
what held the tensor in the run."""

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
    """`of_items`: what it is, where its tensors are not in sight one by one. `is_sure`: it is the tensor itself,
    and nothing that has it."""

    node: ast.expr
    of_items: Container | None
    is_sure: bool


def given_in(call: ast.Call, held: Held, consumer: Consumer | None, seen: Observation | None) -> list[Given]:
    """Nothing where it cannot be told which it is; several where a list is written out that has them."""
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
    """True if the text shows that what a call converts, an argument or what is in one, is a tensor on every path: a
    run does not see that an array came there at other times."""
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
    """The items of a list that is written out, or the one of a comprehension."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return [node.elt]
    return node.values if isinstance(node, ast.Dict) else []


def _arguments(call: ast.Call, seen: Observation | None) -> Iterator[tuple[ast.expr, Value | None]]:
    """The arguments before any that is starred, and those with a name, each with what the text knows of it."""
    given = itertools.takewhile(lambda node: not isinstance(node, ast.Starred), call.args)
    yield from zip(
        given, itertools.chain(seen.arguments.positional if seen else (), itertools.repeat(None)), strict=False
    )
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.value, seen.arguments.named_value(keyword.arg) if seen else None


def _within(node: ast.expr, kind: str, named: dict[str, str]) -> list[Given]:
    """The parts of a list that is written out, or made by a comprehension, or the argument itself."""
    parts = _parts(node)
    found = [part for part in parts if _kind_of(part, named) == "itself"]
    left = found or [part for part in parts if _may_hold(part, named)]
    if (found or len(left) == 1) and not any(isinstance(part, ast.Starred) for part in left):
        return [Given(part, None, bool(kind or found)) for part in left]
    kind = kind or ("items" if isinstance(node, (ast.List, ast.Tuple)) else "")  # what is written out has it
    return [Given(node, _CONTAINERS.get(kind), kind == "itself" and not parts)]


def _kind_of(node: ast.expr, named: dict[str, str]) -> str | None:
    """The kind of the expression by its own name, or as `batch[key]` of a list or dict that has the tensor."""
    path = spelling_of(node)
    if path is not None and path in named:
        return named[path]
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Constant, ast.Slice)):
        return None
    return "itself" if named.get(spelling_of(node.value) or "") in _CONTAINERS else None


def _may_hold(node: ast.expr, named: dict[str, str]) -> bool:
    """A name that does not hold it, though the names were looked through, is not it."""
    if isinstance(node, ast.Name):
        return node.id in named
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_may_hold(part, named) for part in node.elts)
    return not isinstance(node, _NO_TENSORS)


def mixed_in(site: OperationSite, sighting: Sighting, seen: Observation | None) -> Mixture | None:
    """The operand that is the tensor as a conversion; None where that cannot be told. It keeps its value where the text
    shows it to be a tensor: an array may come there at other times."""
    operands = operands_of(site.node, site.statement)
    if operands is None:
        return None
    names = {name for held in sighting.held for name, kind in held if kind == "itself"}
    kind, node = _index(operands, names) if operands.key is not None else _operator(site.node, operands, names)
    if node is None:
        return None
    facts = sighting.facts
    if kind in ("index", "equality"):  # these two ask for the device alone
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
    """The mixture of what is put into an array, or of the index of one."""
    assert operands.key is not None
    parts = indices_of(operands.key)
    of_index = [part for part in parts if spelling_of(part) in names]
    if not of_index and operands.right is None:
        of_index = [part for part in parts if not isinstance(part, (ast.Constant, ast.Slice))]
    if of_index:
        return "index", of_index[0] if len(of_index) == 1 else None
    return "put into array", operands.right


def _value_of_operand(operands: Operands, node: ast.expr | ast.AugAssign, seen: Observation | None) -> Value | None:
    """The value of what is put into an array, or of the index of one; None of a part of an index."""
    if seen is None or operands.key is None:
        return None
    first, last = seen.arguments.positional[0], seen.arguments.positional[-1]
    if node is operands.right:
        return last
    index = last if operands.right is None else first
    return None if isinstance(operands.key, ast.Tuple) else index
