"""Which functions of a module run within a transform of torch.func: no chain converts a tensor to NumPy there.

The tensors are wrappers without memory of their own, so `.numpy()` raises RuntimeError whatever is called before it,
and with `force=True`, too. `torch.vmap` wraps what it maps over, and what is made of that; the others wrap all tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.text.names import last_name, path_of
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, walk

_OF_TORCH_FUNC = ("grad", "grad_and_value", "jacrev", "jacfwd", "vjp", "jvp", "hessian", "vmap")
_TRANSFORMS = {f"{home}.{name}" for home in ("torch.func", "functorch") for name in _OF_TORCH_FUNC} | {"torch.vmap"}
_WORDS = ("vmap", "torch.func", "functorch", "import func")
_NO_TENSORS = frozenset("shape dtype device ndim size dim numel".split())  # attributes of tensors


class Transformed(NamedTuple):
    """The transform that a function is given to, and the row where it is."""

    name: str
    row: int


class _Given(NamedTuple):
    """A transform, and the names in the function that hold what it wraps; None where it wraps every tensor."""

    transform: Transformed
    wrapped: frozenset[str] | None


def transformed_around(source: Source, scopes: Sequence[ast.AST], call: ast.Call) -> Transformed | None:
    """The transform within which a call of `.numpy()` runs, if that converts what the transform wraps."""
    if not any(word in source.text for word in _WORDS):
        return None
    if source not in _KNOWN:
        _KNOWN[source] = dict(_found(source))
    given = _KNOWN[source].get(call) or _KNOWN[source].get(scopes[-1])
    is_wrapped = given is not None and (given.wrapped is None or _mentions(call.func, given.wrapped))
    return given.transform if given is not None and is_wrapped else None


# What is known of a source goes with it: of functions, and of all that a lambda holds.
_KNOWN: WeakKeyDictionary[Source, Mapping[ast.AST, _Given]] = WeakKeyDictionary()


def _found(source: Source) -> Iterator[tuple[ast.AST, _Given]]:
    nodes = list(walk(source.tree))
    imports = full_names(source.tree.body)
    functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
    for node in nodes:
        if isinstance(node, FUNCTIONS):
            functions.setdefault(node.name, []).append(node)

    def transform(node: ast.expr) -> str:
        name = in_full(path_of(node) or "", imports)
        return name if name in _TRANSFORMS else ""

    for node in nodes:
        if isinstance(node, FUNCTIONS):
            for each in node.decorator_list:
                name = transform(_without_partial(each))
                if name and not (name.endswith("vmap") and isinstance(each, ast.Call) and not _maps_over_all(each)):
                    yield node, _given(node, name, each.lineno)
        elif isinstance(node, ast.Call) and node.args and (name := transform(node.func)):
            if name.endswith("vmap") and not _maps_over_all(node):
                continue
            function = _without_partial(node.args[0])
            if isinstance(function, ast.Lambda):
                given = _given(function, name, node.lineno)
                yield from ((each, given) for each in walk(function))
            path = (path_of(function) or "").removeprefix("self.")
            if len(functions.get(path, ())) == 1:
                yield functions[path][0], _given(functions[path][0], name, node.lineno)


def _without_partial(node: ast.expr) -> ast.expr:
    """The function itself of `partial(f, ..)`."""
    is_partial = isinstance(node, ast.Call) and last_name(node.func) == "partial" and bool(node.args)
    return node.args[0] if is_partial and isinstance(node, ast.Call) else node


def _maps_over_all(call: ast.Call) -> bool:
    """True if no argument is left as it is, which `in_dims=(0, None)` may say."""
    dims = [*call.args[1:2], *(each.value for each in call.keywords if each.arg in ("in_dims", None))]
    return all(isinstance(each, ast.Constant) and each.value is not None for each in dims)


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str, row: int) -> _Given:
    transform = Transformed(name, row)
    if not name.endswith("vmap"):
        return _Given(transform, None)
    bound = {each.id for each in walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    parameters = (*function.args.posonlyargs, *function.args.args)
    wrapped = frozenset(each.arg for each in parameters if each.arg not in (*bound, "self"))
    for each in () if isinstance(function, ast.Lambda) else function.body:
        if isinstance(each, ast.Assign) and _mentions(each.value, wrapped):
            wrapped |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return _Given(transform, wrapped)


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    """True if a value is made of one of these names, beyond its shape, dtype and the like."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute) and node.attr in _NO_TENSORS:
        return False
    if isinstance(node, ast.Call) and path_of(node.func) == "len":
        return False
    return any(_mentions(each, names) for each in ast.iter_child_nodes(node))
