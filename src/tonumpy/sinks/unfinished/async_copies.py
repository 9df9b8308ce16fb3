"""From a call's spelling to whether it copies a tensor towards the host without waiting for the copy: `non_blocking`.

torch pins what such a copy is written to, and copies in the background. Where the destination is given, and is pageable
memory, the copy waits all the same.
"""

from __future__ import annotations

import ast
from functools import cached_property

from tonumpy.inference.index.bindings import path_of, root_name
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

_FACTORIES = frozenset("empty zeros ones full tensor rand randn arange empty_like zeros_like from_numpy".split())


class Spellings:
    """What the names of one module say of hosts, flags and pinned memory."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def source_of(self, call: ast.Call, scopes: tuple[Scope, ...]) -> ast.expr | None:
        """The expression that is copied, where the call is such a copy; else None."""
        function = call.func
        if not isinstance(function, ast.Attribute):
            return None
        found = self._copied_to_host(call, function, scopes)
        at = 2 if function.attr in ("to", "_foreach_copy_") else 1
        return found if found is not None and self._is_asked_for(call, scopes, at) else None

    def _copied_to_host(self, call: ast.Call, function: ast.Attribute, scopes: tuple[Scope, ...]) -> ast.expr | None:
        """The expression that is copied to memory that need not be waited for, if that is asked for."""
        if function.attr == "to":
            return function.value if self._is_towards_host(call, scopes) else None
        if function.attr == "type":
            return function.value if call.args and _is_cpu_type(call.args[0]) else None
        given = {"copy_": [function.value, *call.args], "_foreach_copy_": call.args}.get(function.attr, [])
        return given[1] if len(given) > 1 and self.is_pinned(given[0]) else None

    def is_pinned(self, node: ast.expr) -> bool:
        """Whether something in sight gives a name, or an attribute of self, page-locked memory."""
        if _pins(node):
            return True
        return root_name(node) in self._pinned

    @cached_property
    def _pinned(self) -> frozenset[str]:
        text = self._source.text
        if "pin_memory" not in text:
            return frozenset()
        return frozenset(
            name
            for node in walk(self._source.tree)
            if isinstance(node, ast.Assign) and _pins(node.value)
            for target in node.targets
            if (name := root_name(target)) is not None
        )

    def _is_towards_host(self, call: ast.Call, scopes: tuple[Scope, ...]) -> bool:
        given = [each.value for each in call.keywords if each.arg in ("device", "other")] or call.args[:1]
        if not given or isinstance(given[0], ast.Starred) or is_dtype(given[0]):
            return False
        return is_cpu_literal(given[0]) or any(map(_is_host, self._values(given[0], scopes, of_defaults=False)))

    def _is_asked_for(self, call: ast.Call, scopes: tuple[Scope, ...], at: int) -> bool:
        """Whether `non_blocking` is true: a keyword, or the argument behind the device and the dtype, if given."""
        given = [each.value for each in call.keywords if each.arg == "non_blocking"] or _behind(call, at)
        return any(_is_true(each) or any(map(_is_true, self._values(each, scopes))) for each in given)

    def _values(self, node: ast.expr, scopes: tuple[Scope, ...], *, of_defaults: bool = True) -> list[ast.expr]:
        """What a name is bound to, all told: nothing where something else than a plain assignment may bind it."""
        name = path_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is None:
            return []
        inner = scopes[-1]
        defaults = dict(_defaults(inner)) if isinstance(inner, FUNCTIONS) else {}
        if name in defaults:
            return [defaults[name]] if of_defaults else []
        bound = [*_bound(inner.body, name)] or [*_bound(self._source.tree.body, name)]
        return bound if len({ast.dump(each) for each in bound}) == 1 else []


def _behind(call: ast.Call, at: int) -> list[ast.expr]:
    """The argument at a position, one sooner where no dtype is given: `x.to(other, True)`."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return []
    is_short = at == 2 and len(call.args) == 2 and not is_dtype(call.args[1])
    return call.args[1:2] if is_short else call.args[at : at + 1]


def _bound(body: Iterable[ast.stmt], name: str) -> Iterable[ast.expr]:
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if path_of(target) == name:
                    yield statement.value


def _defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[tuple[str, ast.expr]]:
    taken = function.args
    positional = [*taken.posonlyargs, *taken.args]
    behind = positional[len(positional) - len(taken.defaults) :]
    yield from ((each.arg, value) for each, value in zip(behind, taken.defaults, strict=True))
    yield from (
        (each.arg, value) for each, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is not None
    )


def _is_host(node: ast.expr) -> bool:
    """A device that is the CPU, or a tensor that a factory makes there."""
    if is_cpu_literal(node):
        return True
    is_made = isinstance(node, ast.Call) and last_name(node.func) in _FACTORIES and root_name(node) == "torch"
    return is_made and isinstance(node, ast.Call) and not any(each.arg in ("device", None) for each in node.keywords)


def _is_cpu_type(node: ast.expr) -> bool:
    """`"torch.FloatTensor"`, `torch.FloatTensor`: a dtype leaves the tensor where it is."""
    name = node.value if isinstance(node, ast.Constant) else path_of(node)
    if not isinstance(name, str):
        return False
    return name.startswith("torch.") and name.endswith("Tensor") and name.count(".") == 1


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _pins(node: ast.expr) -> bool:
    """`torch.empty(n, pin_memory=True)`, `x.pin_memory()`, parts of them, and lists of such."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(map(_pins, node.elts))
    if isinstance(node, ast.ListComp):
        return _pins(node.elt)
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Call):
            is_told = any(each.arg == "pin_memory" and not _is_false(each.value) for each in node.keywords)
            if is_told or last_name(node.func) == "pin_memory":
                return True
            node = node.func
        else:
            node = node.value
    return False


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
