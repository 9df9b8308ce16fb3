"""The calls other than `.numpy()` that share memory between an array and a CPU tensor, and the copies that end it.
NumPy's make an array of a tensor, torch's a tensor of an array. Measured: tests/test_sharing.py tries every function of
both.
"""

from __future__ import annotations

import ast

from tonumpy.detectors.memory import Side
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.chains import Chain, Link, Role
from tonumpy.engine.values.value_facts import max_device_taint, members, tensor_facts
from tonumpy.engine.values.values import DeviceTaint, Symbol, Tensor, Value
from tonumpy.facts import Fact
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import is_cpu_literal, last_name, path_of
from tonumpy.text.prefilter import SHARERS
from tonumpy.text.source import Source

OF_ARRAYS_ALONE = frozenset(("from_numpy", "frombuffer"))  # they raise for any other argument
_OF_TORCH = frozenset(("as_tensor", *OF_ARRAYS_ALONE))
_OF_BOTH = frozenset(("asarray", "from_dlpack"))
_HELD = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)  # expressions whose memory other code may hold


def find_sharers(source: Source) -> list[Site]:
    """The calls in a source that share memory."""
    rows = {row for name in SHARERS for row in source.rows_with_name(name)}
    return find_calls(source, sorted(rows), _may_share)


def side_of(call: ast.Call) -> Side:
    """The side that such a call makes: "array" or "tensor"."""
    name = last_name(call.func)
    is_of_torch = name in _OF_TORCH or (name in _OF_BOTH and (path_of(call.func) or "").startswith("torch"))
    return "tensor" if is_of_torch else "array"


def _may_share(call: ast.Call) -> bool:
    """True for a call of a sharing function, unless it requests a copy or another dtype, or may request another
    device."""
    name = last_name(call.func)
    if name not in SHARERS or len(call.args) != 1 or not isinstance(call.args[0], _HELD):
        return False
    return name == "frombuffer" or all(map(_shares_with, call.keywords))


def _shares_with(keyword: ast.keyword) -> bool:
    if keyword.arg == "copy":
        return isinstance(keyword.value, ast.Constant) and not keyword.value.value
    return keyword.arg == "device" and is_cpu_literal(keyword.value)


def copies_in(chain: Chain, receiver: ast.expr, values: dict[int, Value]) -> tuple[ast.expr, ...]:
    """The parts of a receiver whose result is new memory, innermost first. `values` are the values of the parts, by
    node id."""
    found: list[ast.expr] = []
    innermost = chain.links[0].base if chain.links else receiver
    if isinstance(innermost, ast.BinOp) and isinstance(values.get(id(innermost)), Tensor):
        found.append(innermost)  # an operator's result is always new
    return (*found, *(link.node for link in chain.links if _copies(link, values.get(id(link.base)))))


def brings_back(chain: Chain, values: dict[int, Value]) -> Fact:
    """True if a `.cpu()` of the chain is called on a tensor that was sent to a device; None if its device is unknown.
    It copies unless that device is the CPU.
    """
    bases = [values.get(id(link.base)) for link in chain.links if link.role is Role.CPU]
    if any(base is not None and max_device_taint(members(base)) > DeviceTaint.NONE for base in bases):
        return True
    return False if all(base is not None and tensor_facts(base)[0] is True for base in bases) else None


def _copies(link: Link, base: Value | None) -> bool:
    if not isinstance(link.node, ast.Call) or link.attribute is None:
        return False
    named = {each.arg: each.value for each in link.node.keywords}
    name, operator = link.attribute.attr, None
    if isinstance(base, Tensor):
        copy = named.get("copy")
        if isinstance(copy, ast.Constant) and copy.value is True:
            return True  # `.to("cpu", copy=True)`
        if link.role is Role.CPU:
            return base.on_cpu is False
        operator = torch_api.tensor_method(name)
    elif isinstance(base, Symbol):
        operator = torch_api.function(f"{base.name}.{name}")
    if operator is None or "out" in named:
        return False
    outputs = [output for result in operator.results for output in result.outputs]
    return {(output.kind, output.memory) for output in outputs} == {("tensor", "new")}
