"""From a conversion's chain to its links that copy the memory: certainly, or if the tensor was on a device."""

from __future__ import annotations

import ast

from tonumpy.inference.knowledge import torch_api
from tonumpy.inference.knowledge.chains import Role
from tonumpy.inference.lattice.values import DeviceTaint, Symbol, Tensor, max_device_taint, members, tensor_facts
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.knowledge.chains import Chain, Link
    from tonumpy.inference.lattice.values import Value


def copies_in(chain: Chain, receiver: ast.expr, values: dict[int, Value]) -> tuple[ast.expr, ...]:
    """Innermost first. `values` are those of the parts, by the id of their nodes."""
    found: list[ast.expr] = []
    innermost = chain.links[0].base if chain.links else receiver
    if isinstance(innermost, ast.BinOp) and isinstance(values.get(id(innermost)), Tensor):
        found.append(innermost)  # an operator's result is new whatever its operands are
    return (*found, *(link.node for link in chain.links if _copies(link, values.get(id(link.base)))))


def brings_back(chain: Chain, values: dict[int, Value]) -> Fact:
    """Whether a `.cpu()` of the chain is called on what has been sent to a device, and copies unless that is the CPU.

    None where nothing in sight says where it is.
    """
    bases = [values.get(id(link.base)) for link in chain.links if link.role is Role.CPU]
    if any(base is not None and max_device_taint(members(base)) > DeviceTaint.NONE for base in bases):
        return True
    return False if all(base is not None and tensor_facts(base)[0] is True for base in bases) else None


def _copies(link: Link, base: Value | None) -> bool:
    if not isinstance(link.node, ast.Call) or link.attribute is None:
        return False
    name = link.attribute.attr
    if isinstance(base, Tensor):
        if any(keyword.arg == "copy" and _is_true(keyword.value) for keyword in link.node.keywords):
            return True  # `.to("cpu", copy=True)`
        if link.role is Role.CPU:
            return base.on_cpu is False
        operator = torch_api.tensor_method(name)
    elif isinstance(base, Symbol):
        operator = torch_api.function(f"{base.name}.{name}")
    else:
        return False
    if operator is None or any(keyword.arg == "out" for keyword in link.node.keywords):
        return False
    outputs = [output for result in operator.results for output in result.outputs]
    return bool(outputs) and all(output.kind == "tensor" and output.memory == "new" for output in outputs)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
