"""From a condition on accelerators to what its other branch shows to be on the CPU.

`if use_cuda: x = x.cpu()`: where the flag is false, x is on the CPU already, or the call would be needed there, too.
"""

from __future__ import annotations

import ast
import re

from tonumpy.inference.index.accelerators import tells_cpu_from_all
from tonumpy.inference.index.bindings import path_of
from tonumpy.inference.lattice.environment import NO_ACCELERATOR
from tonumpy.inference.lattice.value_facts import with_facts
from tonumpy.inference.lattice.values import Constant, NonTensor
from tonumpy.inference.transfer.members import resolve
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import is_cpu_literal, last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        opposite = _asks(frame, test.operand)
        return None if opposite is None else not opposite
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = [part for part in test.values if not _asks_for_tensor(part)]  # what is no tensor is on no device
        return True if len(parts) == 1 and _asks(frame, parts[0]) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares_with_accelerator(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call):
        return True if last_name(test.func) == "is_available" else None
    if not isinstance(test, (ast.Name, ast.Attribute)):
        return None
    name = last_name(test) or ""
    if re.search(_FLAG, name):
        return re.search(_NEGATED, name) is None
    value = frame.evaluator.expression(frame, test)
    return True if isinstance(value, NonTensor) and value.what == "accelerator is available" else None


def _asks_for_tensor(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor")


def _compares_with_accelerator(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Fact:
    counted = left.args[0] if isinstance(left, ast.Call) and last_name(left.func) == "len" and left.args else left
    if re.search(_FLAG, last_name(counted) or ""):
        comparison = (type(operator), ast.unparse(right))
        if comparison in _SOME or (isinstance(operator, ast.Gt) and isinstance(right, ast.Constant)):
            return True
        if comparison in _NONE:
            return False
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
        if frame.is_relevant(path.split(".")[0]) or frame.is_relevant(".".join(path.split(".")[:2])):
            frame.refine(path, with_facts(resolve(frame, frame.evaluator.expression(frame, expression)), on_cpu=True))


def _brought(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """`x` for `x.cpu()`, `x.data.cpu()` and `x[0].detach().to("cpu")`; `y` as well for `y = f(x).cpu()`, and `xs` for
    `[x.cpu() for x in xs]`."""
    for root in nodes:
        iterated = {
            node.target.id: node.iter
            for node in walk(root)
            if isinstance(node, (ast.comprehension, ast.For)) and isinstance(node.target, ast.Name)
        }
        for node in walk(root):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _moves_to_cpu(node.value):
                yield from ((target.id, target) for target in node.targets if isinstance(target, ast.Name))
            if isinstance(node, ast.Call) and _moves_to_cpu(node):
                moved = _root_of_chain(node)
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
