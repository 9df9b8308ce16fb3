"""From a condition on accelerators to what its other branch shows to be on the CPU.

`if use_cuda: x = x.cpu()`: where the flag is false, x is on the CPU already, or the call would be needed there, too.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.accelerators import tells_cpu_from_all
from tonumpy.engine.values.environment import NO_ACCELERATOR
from tonumpy.engine.values.value_facts import with_facts
from tonumpy.engine.values.values import Constant, NonTensor
from tonumpy.inference.transfer.members import resolve
from tonumpy.inference.transfer.narrowing import is_relevant
from tonumpy.text.names import is_cpu_literal, last_name, path_of
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame

_FLAG = r"(?i)(^|_)n?(cuda|gpus?)(_|$)"
_NAMES_OF_DEVICES = ("cpu", "cuda", "gpu")
_NEGATED = r"(?i)(^|_)(no|not|non|without|disabled?)(_|$)"


def asks_for_accelerator(frame: Frame, test: ast.expr) -> Fact:
    """True where a condition holds if an accelerator is in use, False where it holds if none is, else None.

    `torch.cuda.is_available()` and a variable that holds its answer, `use_cuda`, `args.gpu > 0`, `device != "cpu"`.
    None where it asks for some, and the module may choose others.
    """
    answer = _asks(frame, test)
    return answer if answer is None or tells_cpu_from_all(frame.module, lambda: ast.unparse(test)) else None


def _asks(frame: Frame, test: ast.expr) -> Fact:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _opposite(_asks(frame, test.operand))
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return _asks_of_tensor(frame, test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares_with_accelerator(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call):
        return True if last_name(test.func) == "is_available" else None
    return _says(frame, test) if isinstance(test, (ast.Name, ast.Attribute)) else None


def _asks_of_tensor(frame: Frame, parts: list[ast.expr]) -> Fact:
    """`isinstance(x, torch.Tensor) and use_cuda`: what is no tensor is on no device."""
    others = [part for part in parts if not _asks_for_tensor(part)]
    return True if len(others) == 1 and _asks(frame, others[0]) else None


def _opposite(answer: Fact) -> Fact:
    return None if answer is None else not answer


def _says(frame: Frame, flag: ast.Name | ast.Attribute) -> Fact:
    """What a name says by itself, `use_cuda` or `no_gpu`, or that it holds the answer of `is_available()`."""
    name = last_name(flag) or ""
    if re.search(_FLAG, name):
        return re.search(_NEGATED, name) is None
    value = frame.evaluator.expression(frame, flag)
    return True if isinstance(value, NonTensor) and value.what == "accelerator is available" else None


def _asks_for_tensor(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor")


def _compares_with_accelerator(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Fact:
    answer = _compares_number(left, operator, right)
    return _compares_device(left, operator, right) if answer is None else answer


def _compares_number(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Fact:
    """`n_gpus > 0`, `len(gpus) >= 1`, `args.gpu is None`"""
    counted = left.args[0] if isinstance(left, ast.Call) and last_name(left.func) == "len" and left.args else left
    if re.search(_FLAG, last_name(counted) or ""):
        comparison = (type(operator), ast.unparse(right))
        if comparison in _SOME or (isinstance(operator, ast.Gt) and isinstance(right, ast.Constant)):
            return True
        if comparison in _NONE:
            return False
    return None


def _compares_device(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Fact:
    """`device != "cpu"`, `"cuda" in device`"""
    if isinstance(operator, (ast.In, ast.NotIn)):
        named = left
    elif isinstance(operator, (ast.Eq, ast.NotEq)):
        named = right
    else:
        return None
    holds_if_named = isinstance(operator, (ast.In, ast.Eq))
    if isinstance(named, ast.Constant) and named.value in _NAMES_OF_DEVICES[1:]:
        return holds_if_named
    return not holds_if_named if is_cpu_literal(named) else None


# Of the number of accelerators, or the number of one (-1 stands for none; the first is number 0): some, or none.
_SOME = frozenset(((ast.GtE, "0"), (ast.GtE, "1"), (ast.Gt, "-1"), (ast.NotEq, "-1"), (ast.IsNot, "None")))
_NONE = frozenset(((ast.Lt, "0"), (ast.Lt, "1"), (ast.LtE, "-1"), (ast.Eq, "-1"), (ast.Is, "None")))


def enter_without_accelerator(frame: Frame, test: ast.expr, elsewhere: Iterable[ast.AST]) -> None:
    """A condition says that no accelerator is in use here, and `elsewhere` is what is done where one is: what is
    brought to the CPU there is on the CPU here; so is all, where a device is asked for: a flag may be wrong."""
    if any(isinstance(node, ast.Constant) and node.value in _NAMES_OF_DEVICES for node in walk(test)):
        frame.env.set(NO_ACCELERATOR, Constant(True))

    for path, expression in dict(_brought(elsewhere)).items():
        if is_relevant(frame, path):
            frame.refine(path, with_facts(resolve(frame, frame.evaluator.expression(frame, expression)), on_cpu=True))


def _brought(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """`x` for `x.cpu()`, `x.data.cpu()` and `x[0].detach().to("cpu")`; `y` as well for `y = f(x).cpu()`, and `xs` for
    `[x.cpu() for x in xs]`."""
    for root in nodes:
        iterated = _iterated_in(root)
        for node in walk(root):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _moves_to_cpu(node.value):
                yield from ((target.id, target) for target in node.targets if isinstance(target, ast.Name))
            if isinstance(node, ast.Call) and _moves_to_cpu(node):
                yield from _moved_by(node, iterated)


def _iterated_in(root: ast.AST) -> dict[str, ast.expr]:
    """What is gone through, by the names that its items have in loops and comprehensions."""
    return {
        node.target.id: node.iter
        for node in walk(root)
        if isinstance(node, (ast.comprehension, ast.For)) and isinstance(node.target, ast.Name)
    }


def _moved_by(call: ast.Call, iterated: Mapping[str, ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """What a call moves, or all that its items are taken from, where it has a path."""
    moved = _root_of_chain(call)
    if isinstance(moved, ast.Name):
        moved = iterated.get(moved.id, moved)
    path = path_of(moved)
    if path is not None:
        yield path, moved


def _root_of_chain(node: ast.expr) -> ast.expr:
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "data"):
            node = node.value
        else:
            return node


def _moves_to_cpu(call: ast.Call) -> bool:
    name = last_name(call.func) if isinstance(call.func, ast.Attribute) else ""
    return name == "cpu" or (name == "to" and bool(call.args) and is_cpu_literal(call.args[0]))
