"""From a call and the imports of its module to whether it may convert a tensor, by spelling alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tonumpy.detectors.consumers import Consumer, Refusal, consumer_of, converting_arguments, library_of, methods_named
from tonumpy.engine.names.bindings import root_name
from tonumpy.text.candidates import handed_over
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import CONSUMERS, OF_TORCH

Names = dict[str, str]  # what a module has imported of these libraries: its own name for it, and the full one


# What makes a library take tensors of every sort, once it is imported.
_BRIDGES = {"faiss": "torch_utils"}


def is_consumer(full: str, text: str) -> bool:
    """True if a module's name is of a library that converts, in a text that may ask for that: not if the text names the
    module that teaches the library to take tensors."""
    root = full.partition(".")[0]
    if root == "torch":
        return OF_TORCH in text
    bridge = _BRIDGES.get(root)
    return root in CONSUMERS and (bridge is None or bridge not in text)


def may_convert(call: ast.Call, names: Names) -> bool:
    """True if a call is of a consumer, as it seems, and given what may be a tensor where that would be converted."""
    return any(may_be_a_tensor(each, names) for each, _ in given_away(call, names))


def given_away(call: ast.Call, names: Names) -> list[tuple[ast.expr, bool]]:
    """The arguments of a call that would be converted, if they are tensors, by what it seems to call; each with whether
    only a tensor at risk is refused there."""
    function = handed_over(call)
    if function is not None:
        return [
            (node, not _refuses_all(parameter.takes))
            for consumer in _consumers_spelt(function, names)
            for position, node in enumerate(call.args[1:])
            for parameter in consumer.parameters
            if parameter.position in (position, -1)
        ]
    return [
        (argument.node, not _refuses_all(argument.takes))
        for consumer in _consumers_spelt(call.func, names)
        for argument in converting_arguments(call, consumer)
        if _may_be_given(argument.node, argument.takes)
    ]


def _consumers_spelt(function: ast.expr, names: Names) -> Iterator[Consumer]:
    """The function under its imported name, and the methods of this name that the libraries' objects have."""
    root, dot, rest = (path_of(function) or "").partition(".")
    found = consumer_named(names[root] + dot + rest) if root in names else None
    if found is not None:
        yield found
    if isinstance(function, ast.Attribute):
        for library in roots_of(names):
            yield from methods_named(library, function.attr)
    else:  # `flip(image=x)`, `Flip(p=1)(image=x)`
        for library in roots_of(names):
            if root not in names and library_of(library).makes_callables:
                yield from methods_named(library, "__call__")


def _may_be_given(node: ast.expr, takes: Mapping[str, Refusal]) -> bool:
    """True if what is given by a literal or a comprehension is taken in this form."""
    kind = _KINDS.get(type(node))
    return kind is None or any(way == kind or (kind == "items" and way.startswith("records")) for way in takes)


def _refuses_all(takes: Mapping[str, Refusal]) -> bool:
    return any(refusal.error for refusal in takes.values())


def consumer_named(full: str) -> Consumer | None:
    library, _, name = full.rpartition(".")
    return consumer_of(library, name)


def roots_of(names: Names) -> set[str]:
    return {full.partition(".")[0] for full in names.values()}


# What is given there by a literal or a comprehension.
_KINDS: dict[type[ast.expr], str] = {
    **dict.fromkeys((ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp), "items"),
    **dict.fromkeys((ast.Dict, ast.DictComp), "values"),
}
_PLAIN_CALLS = frozenset("len range int float str round".split())


def may_be_a_tensor_or_mask(node: ast.expr) -> bool:
    """By its spelling; a mask, `x > 0`, is what its first part is."""
    return may_be_a_tensor(masked_by(node), {})


def masked_by(node: ast.expr) -> ast.expr:
    """Return what a mask is made of."""
    while isinstance(node, ast.Compare):
        node = node.left
    return node


def may_be_a_tensor(node: ast.expr, names: Names) -> bool:
    """By its spelling: no literal, nothing that one of these libraries gives, no shape."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        parts_of = _PARTS.get(type(each))
        if parts_of is not None:
            waiting += parts_of(each)
        elif isinstance(each, ast.Call):
            if _may_give_a_tensor(each, names):
                return True
        elif isinstance(each, _MAY_HOLD) and getattr(each, "attr", "") not in ("shape", "dtype", "size"):
            return True
    return False


_PARTS: dict[type[ast.expr], Callable[[Any], list[ast.expr]]] = {
    **dict.fromkeys((ast.List, ast.Tuple), lambda node: node.elts),
    **dict.fromkeys((ast.ListComp, ast.GeneratorExp), lambda node: [node.elt]),
    ast.Dict: lambda node: node.values,
    ast.DictComp: lambda node: [node.value],
    ast.BinOp: lambda node: [node.left, node.right],  # `[x] * 3`
    ast.UnaryOp: lambda node: [node.operand],
}
_MAY_HOLD = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr)


def _may_give_a_tensor(call: ast.Call, names: Names) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("numpy", "item", "tolist", "size"):
        return False
    root = root_name(call)
    is_given = names.get(root or "", "torch").partition(".")[0] == "torch"  # and not what such a library gives
    return is_given and root not in _PLAIN_CALLS
