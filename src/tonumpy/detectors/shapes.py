"""From a call and the imports of its module to whether it may convert a tensor, by spelling alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

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
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(may_be_a_tensor(item, names) for item in node.elts)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return may_be_a_tensor(node.elt, names)
    if isinstance(node, ast.Dict):
        return any(may_be_a_tensor(value, names) for value in node.values)
    if isinstance(node, ast.DictComp):
        return may_be_a_tensor(node.value, names)
    if isinstance(node, ast.BinOp):
        while isinstance(node, ast.BinOp):  # a long sum leans to the left
            if may_be_a_tensor(node.right, names):
                return True
            node = node.left
        return may_be_a_tensor(node, names)  # `[x] * 3`
    if isinstance(node, ast.UnaryOp):
        return may_be_a_tensor(node.operand, names)
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "size"):
        return False
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numpy", "item", "tolist", "size"):
            return False
        root = root_name(node)
        is_given = names.get(root or "", "torch").partition(".")[0] == "torch"  # and not what such a library gives
        return is_given and root not in _PLAIN_CALLS
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr))
