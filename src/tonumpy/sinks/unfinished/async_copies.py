"""From a call's spelling to whether it copies a tensor towards the host without waiting for the copy: `non_blocking`.

torch pins what such a copy is written to, and copies in the background. Where the destination is given, and is pageable
memory, the copy waits all the same.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import defaults_of, parameter_names, root_name
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

_NOTHING: Mapping[str, ast.expr] = {}
_PLACES = {"to": 2, "type": 1, "copy_": 1, "_foreach_copy_": 2}  # of `non_blocking`
_VIEWS = frozenset("narrow view view_as unsqueeze squeeze transpose permute select".split())
_DEVICES = re.compile("device|dev|gpu|cuda|rank|dtype|type|place", re.IGNORECASE)
_FACTORIES = frozenset("empty zeros ones full tensor rand randn arange empty_like zeros_like from_numpy".split())


class Spellings:
    """What the names of one module say of hosts, flags and pinned memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.on_host: set[int] = set()  # ids of nodes that stand for tensors on the CPU, as far as these were asked for

    def source_of(
        self, call: ast.Call, scopes: tuple[Scope, ...], given: Mapping[str, ast.expr] = _NOTHING
    ) -> ast.expr | None:
        """The expression that is copied, where the call is such a copy; else None. `given` is what a call has given the
        parameters of the function around."""
        function = call.func
        if not isinstance(function, ast.Attribute):
            return None
        if (copied := self._copied_out(call)) is not None:
            return copied
        at = _PLACES.get(function.attr)
        asked = None if at is None else _asked(call, at)
        if not asked or not self._is_asked_for(asked, scopes, given):
            return None
        return self._copied_to_host(call, function, scopes, given)

    def asks_like(self, call: ast.Call, scopes: tuple[Scope, ...]) -> bool:
        """Whether it asks for a copy to where what may be another tensor is: `x.to(self.ids, non_blocking=True)`."""
        told = [each.value for each in call.keywords if each.arg == "other"] or call.args[:1]
        name = last_name(told[0]) if told and isinstance(told[0], (ast.Name, ast.Attribute)) else None
        if last_name(call.func) != "to" or name is None or is_dtype(told[0]) or _DEVICES.search(name):
            return False
        asked = _asked(call, 2)
        return (
            bool(asked) and self._is_asked_for(asked, scopes, _NOTHING) and not self._is_towards_host(call, scopes, {})
        )

    @staticmethod
    def may_copy(call: ast.Call, scopes: tuple[Scope, ...]) -> bool:
        """Whether it does where a call gives the function around the host as the device: `x.to(device, True)`."""
        told = [each.value for each in call.keywords if each.arg == "device"] or call.args[:1]
        if last_name(call.func) != "to" or not told or not isinstance(told[0], ast.Name):
            return False
        return isinstance(scopes[-1], FUNCTIONS) and told[0].id in parameter_names(scopes[-1].args)

    def _copied_out(self, call: ast.Call) -> ast.expr | None:
        """`torch.add(x, y, out=pinned)` does not wait either."""
        out = next((each.value for each in call.keywords if each.arg == "out"), None)
        is_of_torch = out is not None and root_name(call.func) == "torch" and bool(call.args)
        return call.args[0] if out is not None and is_of_torch and self.is_pinned(out) else None

    def told_by(self, node: ast.expr, scopes: tuple[Scope, ...], given: Mapping[str, ast.expr]) -> ast.expr:
        """What a name is bound to, if that is plain; else the node itself."""
        return next(iter(self._values(node, scopes, given=given)), node)

    def _copied_to_host(
        self, call: ast.Call, function: ast.Attribute, scopes: tuple[Scope, ...], given: Mapping[str, ast.expr]
    ) -> ast.expr | None:
        """The expression that is copied to memory that need not be waited for, if that is asked for."""
        if function.attr == "to":
            return function.value if self._is_towards_host(call, scopes, given) else None
        if function.attr == "type":
            return function.value if call.args and _is_cpu_type(call.args[0]) else None
        told = {"copy_": [function.value, *call.args], "_foreach_copy_": call.args}.get(function.attr, [])
        return told[1] if len(told) > 1 and self.is_pinned(told[0]) else None

    def is_pinned(self, node: ast.expr) -> bool:
        """Whether something in sight gives a name, or an attribute of self, page-locked memory."""
        if _pins(node):
            return True
        return root_name(node) in self._pinned

    @cached_property
    def _pinned(self) -> frozenset[str]:
        if "pin_memory" not in self._source.text:
            return frozenset()
        given = [(name, value) for target, value in self.assigned if (name := root_name(target)) is not None]
        pinned = {name for name, value in given if _pins(value)}
        views = {name for name, value in given if (whole := _viewed(value)) is not None and root_name(whole) in pinned}
        return frozenset(pinned | views)

    @cached_property
    def assigned(self) -> list[tuple[ast.expr, ast.expr]]:
        """All targets of plain assignments in the file, each with the value."""
        statements = (node for node in walk(self._source.tree) if isinstance(node, ast.Assign))
        return [(target, each.value) for each in statements for target in each.targets]

    def _is_towards_host(self, call: ast.Call, scopes: tuple[Scope, ...], given: Mapping[str, ast.expr]) -> bool:
        told = [each.value for each in call.keywords if each.arg in ("device", "other")] or call.args[:1]
        if not told or isinstance(told[0], ast.Starred) or is_dtype(told[0]):
            return False
        values = self._values(told[0], scopes, of_defaults=False, given=given)
        return id(told[0]) in self.on_host or any(map(_is_host, [told[0], *values]))

    def _is_asked_for(self, asked: list[ast.expr], scopes: tuple[Scope, ...], given: Mapping[str, ast.expr]) -> bool:
        """Whether `non_blocking` is true."""
        return any(_is_true(each) or any(map(_is_true, self._values(each, scopes, given=given))) for each in asked)

    def _values(
        self,
        node: ast.expr,
        scopes: tuple[Scope, ...],
        *,
        of_defaults: bool = True,
        given: Mapping[str, ast.expr] = _NOTHING,
    ) -> list[ast.expr]:
        """What a name is bound to, all told: nothing where something else than a plain assignment may bind it."""
        name = path_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is None:
            return []
        if name in given:
            return [given[name]]
        inner = scopes[-1]
        defaults = dict(defaults_of(inner.args)) if isinstance(inner, FUNCTIONS) else {}
        if name in defaults:
            return [defaults[name]] if of_defaults else []
        outer = scopes[-2].body if name.startswith("self.") and len(scopes) > 1 else []
        methods = [statement for each in outer if isinstance(each, FUNCTIONS) for statement in each.body]
        bound = [*_bound(methods or inner.body, name)] or [*_bound(self._source.tree.body, name)]
        return bound if len({ast.dump(each) for each in bound}) == 1 else []


def _asked(call: ast.Call, at: int) -> list[ast.expr]:
    """`non_blocking`: a keyword, or the argument behind the device and the dtype, if given."""
    return [each.value for each in call.keywords if each.arg == "non_blocking"] or _behind(call, at)


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


def _viewed(node: ast.expr) -> ast.expr | None:
    """What `slots[turn]` and `rows.narrow(0, 0, n)` are parts of, in the same memory."""
    viewed = None
    while True:
        if isinstance(node, ast.Subscript):
            node = viewed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = viewed = node.func.value
        else:
            return viewed


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
