"""Whether a call may convert a tensor, by its spelling and the imports of its module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tonumpy.detectors.consumers import Consumer, Refusal, consumer_of, converting_arguments, library_of, methods_named
from tonumpy.engine.names.bindings import root_name
from tonumpy.text.candidates import handed_over
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import CONSUMERS, OF_TORCH

Names = dict[str, str]  # imports of converting libraries: local name to full name


# The module that makes a library accept all tensors, once it is imported.
_BRIDGES = {"faiss": "torch_utils"}


def is_consumer(full: str, text: str) -> bool:
    """True if a name belongs to a converting library, and the text does not name the module that makes that library
    accept tensors; for torch, if the text names OF_TORCH."""
    root = full.partition(".")[0]
    if root == "torch":
        return OF_TORCH in text
    bridge = _BRIDGES.get(root)
    return root in CONSUMERS and (bridge is None or bridge not in text)


def may_convert(call: ast.Call, names: Names) -> bool:
    """True if a call looks like one of a consumer, with a possible tensor as a converted argument."""
    return any(may_be_a_tensor(each, names) for each, _ in given_away(call, names))


def given_away(call: ast.Call, names: Names) -> list[tuple[ast.expr, bool]]:
    """The arguments that the apparent callee would convert if they are tensors, each with whether only tensors at risk
    are refused there."""
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
    """The imported function of this name, and the methods of this name of the libraries' objects."""
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
    """True if the parameter takes the form of a literal or comprehension; always True for other expressions."""
    kind = _KINDS.get(type(node))
    return kind is None or any(way == kind or (kind == "items" and way.startswith("records")) for way in takes)


def _refuses_all(takes: Mapping[str, Refusal]) -> bool:
    return any(refusal.error for refusal in takes.values())


def consumer_named(full: str) -> Consumer | None:
    library, _, name = full.rpartition(".")
    return consumer_of(library, name)


def roots_of(names: Names) -> set[str]:
    return {full.partition(".")[0] for full in names.values()}


# The form of a literal or comprehension.
_KINDS: dict[type[ast.expr], str] = {
    **dict.fromkeys((ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp), "items"),
    **dict.fromkeys((ast.Dict, ast.DictComp), "values"),
}
_PLAIN_CALLS = frozenset("len range int float str round".split())


def may_be_a_tensor_or_mask(node: ast.expr) -> bool:
    """True if an expression may be a tensor by its spelling; for a mask, `x > 0`, its first operand decides."""
    return may_be_a_tensor(masked_by(node), {})


def masked_by(node: ast.expr) -> ast.expr:
    """The first operand of a comparison, `x` in `x > 0`; the node itself otherwise."""
    while isinstance(node, ast.Compare):
        node = node.left
    return node


def may_be_a_tensor(node: ast.expr, names: Names) -> bool:
    """True if an expression may be a tensor by its spelling: no literal, no result of these libraries, no shape."""
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
    is_given = names.get(root or "", "torch").partition(".")[0] == "torch"  # and not such a library's result
    return is_given and root not in _PLAIN_CALLS
