"""From a NumPy call on tensors to torch's counterpart, which keeps the gradient."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import arguments_of
from tonumpy.text.names import last_name, quoted

if TYPE_CHECKING:
    from tonumpy.conversions import ImplicitConversion

# Not `std`, `var` and `median`, which torch defines otherwise.
_REDUCING = {"sum": "sum", "mean": "mean", "average": "mean", "prod": "prod"} | dict.fromkeys(("max", "amax"), "amax")
_REDUCING |= dict.fromkeys(("min", "amin"), "amin")
_JOINING = {"concatenate": "cat"} | {name: name for name in "stack vstack hstack dstack column_stack".split()}
_MAKING = ("array", "asarray", "asanyarray")


def in_torch(conversion: ImplicitConversion) -> str | None:
    """For a person: "use `torch.stack(parts).sum(0)` or `sum(parts)`"; None where torch has no such function, or it is
    called with more than an axis."""
    call = conversion.site.call
    if not isinstance(call, ast.Call) or not call.args:
        return None
    name = last_name(call.func)
    if name is None:
        return None
    is_list = conversion.of_items or call.args[0] is not conversion.argument
    given = (quoted(call.args[0]) or "").strip("`") or ("[...]" if is_list else "...")
    axes = arguments_of(call)[1:]
    if any(each.arg not in ("axis", "dim") for each in call.keywords) or len(axes) > 1:
        return None
    axis = (quoted(axes[0]) or "").strip("`") if axes else ""
    if axes and not axis:
        return None
    if name in _REDUCING:
        made = f"torch.stack({given})" if is_list else _in_brackets(call.args[0], given)
        more = f" or `sum({given})`" if is_list and name == "sum" and axis == "0" else ""
        return f"use `{made}.{_REDUCING[name]}({axis})`{more}"
    if is_list and name in _JOINING:
        return f"use `torch.{_JOINING[name]}({given}{f', {axis}' if axis else ''})`"
    if name in _MAKING:
        return (f"use `torch.stack({given})`" if is_list else "use the tensor itself") if not axes else None
    return f"use `torch.{name}({given})`" if not is_list and not axes and _keeps_gradient(name) else None


def _keeps_gradient(name: str) -> bool:
    """Whether torch has a function of this name that gives one tensor, with a gradient."""
    function = torch_api.function(f"torch.{name}")
    return function is not None and all(
        not each.container and each.outputs[0].kind == "tensor" and each.outputs[0].grad != "never"
        for each in function.results
    )


def _in_brackets(node: ast.expr, code: str) -> str:
    return code if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({code})"
