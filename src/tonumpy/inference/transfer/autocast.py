"""What `torch.autocast` makes of products, in the block of the `with` itself.

What is called there is known, and not what that calls.
https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float16
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.values.dtypes import choice_of, may_lack
from tonumpy.engine.values.environment import AUTOCAST
from tonumpy.engine.values.value_facts import dtype_of, truth_of
from tonumpy.engine.values.values import Constant, Instance, LibraryObject, Tensor, Value
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame

    _Block = ast.With | ast.AsyncWith
    _Def = ast.FunctionDef | ast.AsyncFunctionDef

_LAYERS = frozenset(
    f"torch.nn.{name}"
    for name in ("Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyLinear").split()
)
_FUNCTIONS = frozenset("matmul mm bmm addmm baddbmm addmv mv einsum linear conv1d conv2d conv3d".split())
# What keeps the dtype of its first operand, under autocast as elsewhere.
_KEEPING = frozenset(
    "tanh sigmoid relu relu6 leaky_relu gelu silu hardtanh clamp clip squeeze unsqueeze view reshape flatten permute"
    " transpose contiguous mean sigmoid_ relu_ interpolate dropout max_pool2d avg_pool2d adaptive_avg_pool2d".split()
)
MAX_STEPS = 8  # from what `forward` returns to the layer that made it


def dtype_of_autocast(frame: Frame, call: ast.Call) -> str:
    """The dtype, or the choice, if NumPy lacks it; empty for others, and where it is switched off."""
    named = {each.arg: frame.evaluator.expression(frame, each.value) for each in call.keywords if each.arg}
    given = [frame.evaluator.expression(frame, each) for each in call.args[:2]]
    asked = named.get("dtype") or (given[1] if len(given) > 1 else None)
    device = named.get("device_type") or (given[0] if given else None)
    enabled = truth_of(named["enabled"]) if "enabled" in named else True
    return _lacked(_dtype_used(asked, device), enabled)


def _dtype_used(asked: Value | None, device: Value | None) -> str | None:
    """The dtype that is asked for, or the usual one of the device, where that is known."""
    if asked is not None:
        return dtype_of(asked)
    return "bfloat16" if device == Constant("cpu") else None


def _lacked(dtype: str | None, enabled: Fact) -> str:
    """The dtype, if NumPy may lack it, or the choice of it or another, where it is not known to be switched on."""
    if dtype is None or enabled is False or not may_lack(dtype):
        return ""
    return dtype if enabled else choice_of((dtype, None)) or ""


def without_narrow_dtype(frame: Frame, result: Value) -> Value:
    """What an operation makes of bfloat16 may be of another dtype, where autocast may be on."""
    if not isinstance(result, Tensor) or not may_lack(result.dtype) or not frame.module.text.says("holds", "autocast"):
        return result
    spans = frame.module.derived(_spans_under_autocast, frame.module.tree)
    return result._replace(dtype=None) if any(first <= frame.row <= last for first, last in spans) else result


def _spans_under_autocast(tree: ast.Module) -> list[tuple[int, int]]:
    """The rows in which it may be on: of its blocks, of the functions that are named there or in those again, and of
    what an object does that is called. All, where something else than a `with` may switch it on."""
    nodes = list(walk(tree))
    blocks = [each for each in nodes if isinstance(each, (ast.With, ast.AsyncWith)) and any(map(_asks, each.items))]
    if _is_named_elsewhere(nodes, blocks):
        return [(0, tree.body[-1].end_lineno or 0)]
    under = [*blocks, *_functions_under(blocks, [each for each in nodes if isinstance(each, FUNCTIONS)])]
    return [(each.lineno, each.end_lineno or each.lineno) for each in under]


def _is_named_elsewhere(nodes: list[ast.AST], blocks: Iterable[_Block]) -> bool:
    """Whether something else names autocast than what the blocks call."""
    asked = {
        id(item.context_expr.func) for each in blocks for item in each.items if isinstance(item.context_expr, ast.Call)
    }
    mentioned = (each for each in nodes if isinstance(each, (ast.Name, ast.Attribute)) and id(each) not in asked)
    return any("autocast" in (last_name(each) or "") for each in mentioned)


def _functions_under(blocks: Iterable[_Block], functions: list[_Def]) -> list[_Def]:
    """The functions that are named in the blocks, or in functions that are; and what an object does that is called."""
    named = {"forward", "__call__"}
    waiting: list[ast.AST] = list(blocks)
    while waiting:
        inner = [each for each in walk(waiting.pop()) if isinstance(each, (ast.Name, ast.Attribute))]
        more = {last_name(each) for each in inner} - named
        named.update(filter(None, more))
        waiting += (each for each in functions if each.name in more)
    return [each for each in functions if each.name in named]


def _asks(item: ast.withitem) -> bool:
    return isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "autocast"


def of_product(frame: Frame, name: str, result: Value) -> Value:
    """The result of a function of torch, or of a layer, by its name."""
    dtype = _asked_for(frame)
    is_product = name in _LAYERS or name.rpartition(".")[2] in _FUNCTIONS
    return result._replace(dtype=dtype) if dtype and is_product and isinstance(result, Tensor) else result


def of_module(frame: Frame, module: Instance, result: Value) -> Value:
    """The result of a module of the repository, whose last layer is one of those; or of one that was cast as a whole,
    where autocast may be on elsewhere."""
    dtype = _asked_for(frame) or (module.dtype if may_lack(module.dtype) else None)
    if not dtype or not isinstance(result, Tensor) or result.dtype is not None:
        return result
    return result._replace(dtype=dtype) if _ends_in_product(frame, module) else result


def _asked_for(frame: Frame) -> str:
    known = frame.env.get(AUTOCAST)
    return known.value if isinstance(known, Constant) else ""


def _ends_in_product(frame: Frame, module: Instance) -> bool:
    forward = frame.analysis.classes.method(module.cls, "forward")
    if forward is None or not isinstance(forward.node, FUNCTIONS):
        return False
    made = _what_makes_result(list(statements_of(forward.node.body)))
    return isinstance(made, ast.Call) and _is_product_of(frame, module, made.func)


def _what_makes_result(statements: list[ast.stmt]) -> ast.expr | None:
    """What makes the value of the last `return`: behind the names that it is bound to, and what keeps its dtype."""
    node = next((each.value for each in reversed(statements) if isinstance(each, ast.Return)), None)
    for _ in range(MAX_STEPS):
        if isinstance(node, ast.Name):
            last = _last_binding(statements, node.id)
            if last is None:
                return None
            statements = [each for each in statements if each.lineno < last.lineno]
            node = last.value
        elif isinstance(node, ast.Call) and last_name(node.func) in _KEEPING:
            node = _first_operand(node)
        else:
            break
    return node


def _last_binding(statements: list[ast.stmt], name: str) -> ast.Assign | None:
    bound = [each for each in statements if isinstance(each, ast.Assign) and _binds(each, name)]
    return max(bound, key=lambda each: each.lineno, default=None)


def _first_operand(call: ast.Call) -> ast.expr | None:
    """`x` of `x.relu()`, `F.relu(x)` and `relu(x)`"""
    if isinstance(call.func, ast.Attribute) and last_name(call.func.value) not in ("torch", "F"):
        return call.func.value
    return next(iter(call.args), None)


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in statement.targets)


def _is_product_of(frame: Frame, module: Instance, function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute):
        return False
    if not isinstance(function.value, ast.Name) or function.value.id != "self":
        return function.attr in _FUNCTIONS
    layer = frame.analysis.attributes.attribute(module, function.attr)
    if isinstance(layer, LibraryObject) and layer.name == "torch.nn.Sequential" and layer.arguments is not None:
        layer = layer.arguments.positional[-1] if layer.arguments.positional else layer
    return isinstance(layer, LibraryObject) and layer.name in _LAYERS
