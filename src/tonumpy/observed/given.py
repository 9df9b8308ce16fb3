"""Finds the argument of a call by which a converted tensor came there, from what held the tensor in the run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Mapping, Sequence, Tensor
from tonumpy.sinks.consumers import converting_arguments
from tonumpy.text.names import spelling_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.conversions import Container
    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.values.values import Value
    from tonumpy.observed.sighting import Held
    from tonumpy.sinks.consumers import Consumer

_CONTAINERS: dict[str, Container] = {"items": "list", "values": "dict"}
_NO_TENSORS = (ast.Constant, ast.JoinedStr, ast.Lambda, ast.Compare)


class Given(NamedTuple):
    """`of_items`: what it is, where its tensors are not in sight one by one. `is_sure`: it is the tensor itself,
    and nothing that has it."""

    node: ast.expr
    of_items: Container | None
    is_sure: bool


class _Argument(NamedTuple):
    node: ast.expr
    position: int | None
    name: str | None


def given_in(call: ast.Call, held: Held, consumer: Consumer | None, seen: Observation | None) -> list[Given]:
    """Nothing where it cannot be told which it is; several where a list is written out that has them."""
    arguments = list(_arguments(call))
    named = dict(held.names)
    for argument in arguments:
        kind = _kind_of_parameter(argument, held)
        if kind is not None:
            return _within(argument, kind, named, seen)
    for argument in arguments:
        kind = _kind_of(argument.node, named)
        if kind is not None:
            return _within(argument, kind, named, seen)
    converting = None if consumer is None else {id(each.node) for each in converting_arguments(call, consumer)}
    left = [each for each in arguments if _may_hold(each.node, named)]
    if converting:
        left = [each for each in left if id(each.node) in converting]
    if len(left) != 1:
        return []
    value = _value(left[0], seen)
    is_list = isinstance(value, Sequence) and _is_tensor(value.element)
    kind = "items" if is_list else "itself" if _is_tensor(value) else named.get("", "")
    return _within(left[0], kind, named, seen)


def is_known(call: ast.Call, node: ast.expr, seen: Observation | None) -> bool:
    """True if the text shows that what a call converts, an argument or what is in one, is a tensor on every path: a
    run does not see that an array came there at other times."""
    for argument in _arguments(call):
        value = _value(argument, seen)
        if value is None:
            continue
        if argument.node is node:
            return is_surely_tensor(value.element if isinstance(value, Sequence) else value)
        if node in _parts(argument.node):
            return is_surely_tensor(_part(argument.node, node, value))
    return False


def is_surely_tensor(value: Value | None) -> bool:
    each_way = () if value is None else tuple(members(value))
    return bool(each_way) and all(isinstance(each, Tensor) and each.certainty != "possible" for each in each_way)


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.value]
    return node.values if isinstance(node, ast.Dict) else []


def _part(node: ast.expr, part: ast.expr, value: Value) -> Value | None:
    if isinstance(value, Sequence):
        place = _parts(node).index(part)
        return value.items[place] if value.items is not None and place < len(value.items) else value.element
    if not isinstance(value, Mapping):
        return None
    if isinstance(node, ast.Dict):
        key = node.keys[node.values.index(part)]
        return value.get(key.value) if isinstance(key, ast.Constant) else value.other
    return value.other


def _arguments(call: ast.Call) -> Iterator[_Argument]:
    for position, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            break
        yield _Argument(node, position, None)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield _Argument(keyword.value, None, keyword.arg)


def _kind_of_parameter(argument: _Argument, held: Held) -> str | None:
    if held.parameter is None:
        return None
    name, position, kind = held.parameter
    if argument.name is not None:
        return kind if argument.name == name else None
    return kind if argument.position == position else None


def _within(argument: _Argument, kind: str, named: dict[str, str], seen: Observation | None) -> list[Given]:
    """The parts of a list that is written out, or made by a comprehension, or the argument itself."""
    node = argument.node
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        return [Given(node.elt, None, kind == "items")]
    if isinstance(node, ast.DictComp):
        return [Given(node.value, None, kind == "values")]
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        found = [part for part in parts if _kind_of(part, named) == "itself"]
        if not found:
            left, value = [part for part in parts if _may_hold(part, named)], _value(argument, seen)
            is_known = len(left) == 1 or all(value and is_surely_tensor(_part(node, part, value)) for part in left)
            found = left if is_known else []
        if found and not any(isinstance(part, ast.Starred) for part in found):
            return [
                Given(part, None, kind != "" or _kind_of(part, named) == "itself" or len(found) > 1) for part in found
            ]
        return [Given(node, _CONTAINERS.get(kind), False)]
    if kind == "itself":
        return [Given(node, None, True)]
    return [Given(node, _CONTAINERS.get(kind), False)]


def _kind_of(node: ast.expr, named: dict[str, str]) -> str | None:
    """The kind of the expression by its own name, or as `batch[key]` of a list or dict that has the tensor."""
    path = spelling_of(node)
    if path is not None and path in named:
        return named[path]
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Constant, ast.Slice)):
        return None
    holder = spelling_of(node.value)
    return "itself" if holder is not None and named.get(holder) in _CONTAINERS else None


def _may_hold(node: ast.expr, named: dict[str, str]) -> bool:
    """A name that does not hold it, though the names were looked through, is not it."""
    if isinstance(node, ast.Name):
        return node.id in named
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_may_hold(part, named) for part in node.elts)
    return not isinstance(node, _NO_TENSORS)


def _value(argument: _Argument, seen: Observation | None) -> Value | None:
    if seen is None:
        return None
    if argument.name is not None:
        return seen.arguments.named_value(argument.name)
    positional, position = seen.arguments.positional, argument.position
    return positional[position] if position is not None and position < len(positional) else None


def _is_tensor(value: Value | None) -> bool:
    return value is not None and all(isinstance(each, Tensor) for each in members(value))
