"""A receiver's chain: its links and their roles, such as detach, or move to the CPU."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from tonumpy.engine.knowledge import torch_api
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype


class Role(Enum):
    """The effect of a link on the conversion."""

    DETACH = "detach"  # .detach()
    DATA = "data"  # .data, which detaches too
    CPU = "cpu"  # .cpu(), .to("cpu")
    DEVICE = "device"  # .cuda(), .to(something else): undoes an earlier .cpu()
    GRAD = "grad"  # .requires_grad_(): undoes an earlier .detach()
    OTHER = "other"


class Link(NamedTuple):
    """One link of a chain: a method call, an attribute or a subscript."""

    node: ast.Call | ast.Attribute | ast.Subscript
    role: Role

    @property
    def base(self) -> ast.expr:
        """The expression that the link is applied to."""
        function = self.node.func if isinstance(self.node, ast.Call) else self.node
        assert isinstance(function, (ast.Attribute, ast.Subscript))
        return function.value

    @property
    def attribute(self) -> ast.Attribute | None:
        """The attribute that names the link; None for a subscript."""
        function = self.node.func if isinstance(self.node, ast.Call) else self.node
        return function if isinstance(function, ast.Attribute) else None

    @property
    def words(self) -> str:
        """The link in messages: `.data`, `.detach()`, `.to("cpu")`, `.mul(...)`."""
        name = self.attribute.attr if self.attribute is not None else "[...]"
        if not isinstance(self.node, ast.Call):
            return f".{name}"
        if self.role is Role.CPU and name == "to":
            return '.to("cpu")'
        return f".{name}({'...' if self.node.args or self.node.keywords else ''})"

    @property
    def may_add_grad(self) -> bool:
        """True if an argument may make the result require grad: in `.mul(w)`, not in `.view(n)`."""
        if not isinstance(self.node, ast.Call) or not isinstance(self.node.func, ast.Attribute):
            return False
        if self.role in (Role.CPU, Role.DEVICE):  # its arguments are a device and flags
            return False
        places: list[tuple[int | str, ast.expr]] = list(enumerate(self.node.args, 1))
        places += [(keyword.arg or "", keyword.value) for keyword in self.node.keywords]
        operands = [
            place for place, node in places if any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node))
        ]
        if not operands:
            return False
        method = torch_api.tensor_method(self.node.func.attr)
        return method is None or any(method.takes_grad_at(place) for place in operands)


class Chain(NamedTuple):
    """The links of a receiver, innermost first."""

    links: tuple[Link, ...]

    @property
    def cpu(self) -> Link | None:
        """The link that leaves the tensor on the CPU, if one does."""
        return self._last(Role.CPU, undone_by=Role.DEVICE)

    @property
    def detach(self) -> Link | None:
        """The last link that detaches, if no later link may add grad."""
        link = self._last(Role.DETACH, Role.DATA, undone_by=Role.GRAD)
        return None if link is None or any(later.may_add_grad for later in self.after(link)) else link

    @property
    def is_complete(self) -> bool:
        """True if a link brings the tensor to the CPU, one detaches it, and nothing undoes either."""
        return self.detach is not None and self.cpu is not None

    @property
    def is_surely_complete(self) -> bool:
        """True if the chain is complete and contains `.detach()`; `.data` detaches only on a tensor."""
        return self.is_complete and any(link.role is Role.DETACH for link in self.links)

    def _last(self, *roles: Role, undone_by: Role) -> Link | None:
        for link in reversed(self.links):
            if link.role is undone_by:
                return None
            if link.role in roles:
                return link
        return None

    @property
    def undoes_cpu(self) -> Link | None:
        """The link that moves the tensor off the CPU after an earlier link moved it there."""
        return self._undoing((Role.CPU,), lambda link: link.role is Role.DEVICE)

    @property
    def undoes_detach(self) -> Link | None:
        """The link that adds grad, or may, after an earlier link detached the tensor."""
        return self._undoing((Role.DETACH, Role.DATA), lambda link: link.role is Role.GRAD or link.may_add_grad)

    def _undoing(self, roles: tuple[Role, ...], undoes: Callable[[Link], bool]) -> Link | None:
        first = next((link for link in self.links if link.role in roles), None)
        return None if first is None else next(filter(undoes, reversed(self.after(first))), None)

    def after(self, link: Link) -> tuple[Link, ...]:
        return self.links[self.links.index(link) + 1 :]


def chain_of(receiver: ast.expr) -> Chain:
    """The chain of a receiver, innermost link first."""
    links: list[Link] = []
    node = receiver
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            links.append(Link(node, _role_of_call(node, node.func.attr)))
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            links.append(Link(node, Role.DATA if node.attr == "data" and not _is_looked_up(links) else Role.OTHER))
            node = node.value
        elif isinstance(node, ast.Subscript):
            links.append(Link(node, Role.OTHER))
            node = node.value
        elif isinstance(node, ast.Await):
            node = node.value
        else:
            return Chain(tuple(reversed(links)))


def _is_looked_up(links: list[Link]) -> bool:
    """True if the last link is `["key"]`: tensors have no such items, so the `.data` in `x.data["key"]` is not a
    tensor's."""
    if not links or not isinstance(links[-1].node, ast.Subscript):
        return False
    index = links[-1].node.slice
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def _role_of_call(call: ast.Call, method: str) -> Role:
    if method in ("detach", "detach_"):
        return Role.DETACH
    if method == "cpu":
        return Role.CPU
    if method in ACCELERATORS:
        return Role.DEVICE
    if method == "requires_grad_":
        return Role.OTHER if _is_false(call.args[:1] or [keyword.value for keyword in call.keywords]) else Role.GRAD
    if method == "to":
        return _role_of_to(call)
    return Role.OTHER


def _role_of_to(call: ast.Call) -> Role:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return Role.DEVICE
    devices = named or call.args[:1]
    if not devices or is_dtype(devices[0]):
        return Role.OTHER
    return Role.CPU if is_cpu_literal(devices[0]) else Role.DEVICE


def _is_false(values: list[ast.expr]) -> bool:
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)
