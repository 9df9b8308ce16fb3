"""# NumPy array mixed with a tensor (TNP108)

## What it does

Reports an operator between a NumPy array and a tensor, an array indexed by a tensor, a tensor assigned into an array
and an array assigned into a tensor, where that raises: for every tensor, or for this one because the code shows that it
requires grad, is on a GPU or a device chosen at run time, or has a dtype or layout that NumPy lacks (see TNP104). Both
types must be known: nothing is reported where one side may be a number. Like TNP104 it looks only at functions that
mention grad, devices, modules or such dtypes.

## Why is this bad

NumPy leaves `array - tensor` to the tensor, and torch does not know arrays. torch leaves `tensor - array` to NumPy,
which calls `.numpy()` on the tensor, and warns in NumPy 2. Measured with torch 2.13 on NumPy 2.4 and 1.26, which raise
the same:

| with an array `a` and a tensor `t` | |
|---|---|
| `a + t`, and `-` `*` `//` `%` `**` `@` `&` `|` `^` `<<` `>>`; `a += t` and the like | always raises |
| `a < t`, `t < a`, and `<=` `>` `>=` | always raises |
| `a != t`, `t != a` | is always `True` |
| `t[...] = a` | always raises |
| `t + a`, and `-` `*` `/` `//` `%` `**` `@`; `t += a` and the like | raises where `t.numpy()` does |
| `a / t`, `a /= t` | raises where `t.numpy()` does, but for the conjugate and the negative bit |
| `a == t`, `t == a` | raises on a GPU |
| `a[t]`, `a[t] = x` | raises on a GPU, unless `t` is a single number |
| `a[1:] = t`, `a[mask] = t`, `a[i] = t` where `a[i]` is an array | raises where `t.numpy()` does |
| `a[i] = t` where `a[i]` is a number | works for a single number on any device |
| `t[a]`, `t[a] = x`; a NumPy scalar, `np.float64(2) * t` | works |

## Example

```python
import numpy as np
import torch


def keep(net: torch.nn.Linear, x: torch.Tensor):
    kept = np.zeros((10, 3))
    kept[:5] = net(x.cuda())
    return kept
```

## Use instead

```python
import numpy as np
import torch


def keep(net: torch.nn.Linear, x: torch.Tensor):
    kept = np.zeros((10, 3))
    kept[:5] = net(x.cuda()).detach().cpu().numpy()
    return kept
```

## Fix safety

Safe for an index and for what is assigned into an array: the array holds the same values then. Unsafe for operators:
the result becomes an array, and a tensor with a gradient may have been meant. There is no fix where an array is
assigned into a tensor (use `torch.from_numpy(a)`), nor for `t += a`, nor where torch uses the result and the tensor may
require grad.
"""

import ast

from tonumpy.conversions import Mixture
from tonumpy.findings import RepairStyle
from tonumpy.phrases import CONVERT, argument_at_risk, argument_briefly, used_in_torch
from tonumpy.repair.operations import Operation, convert_argument

CODE = "TNP108"
ON_BY_DEFAULT = True
JUDGES = ("operations",)

_SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.Div: "/",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def check(conversion: Mixture) -> str | None:
    is_put = conversion.kind in ("put into tensor", "put into array")
    code = f"`{conversion.function}{' = ...' if is_put else ''}`"
    if conversion.kind == "put into tensor":
        return f"{code}: assigning an ndarray into a Tensor always raises TypeError; wrap it in `torch.from_numpy()`"
    if conversion.is_always_wrong:
        outcome = "is always `True`" if conversion.kind == "difference" else "always raises TypeError"
        return f"{code}: `{_operands(conversion)}` {outcome}{_for_training(conversion)}"
    what = "converts its index, " if conversion.kind == "index" else "converts "
    advice = _for_training(conversion) or ("" if repair(conversion, "links") else f"; {CONVERT}")
    if not conversion.risks:
        return None
    told = argument_at_risk(conversion)
    if conversion.kind == "index":
        told += ", and one of one element loses its axis"
    if conversion.kind == "equality":  # torch compares, without NumPy
        what, told = "compares an array with ", told.replace("NumPy raises TypeError", "torch raises RuntimeError")
    return f"{code} {what}{told}{advice}"


def brief(conversion: Mixture) -> str:
    code = f"`{conversion.function}`"
    if conversion.kind == "put into tensor":
        return f"{code} assigns an ndarray into a Tensor: TypeError"
    if conversion.kind == "difference":
        return f"{code} is always True: `{_operands(conversion)}`"
    if conversion.is_always_wrong:
        return f"{code} is `{_operands(conversion)}`: TypeError"
    if conversion.kind == "equality":
        return f"{code} compares with {argument_briefly(conversion, 'RuntimeError')}"
    return f"{code} converts {argument_briefly(conversion)}"


def _for_training(conversion: Mixture) -> str:
    if not conversion.would_cut_gradient:
        return ""
    return f"; {used_in_torch(conversion)}: wrap the array in `torch.from_numpy()`"


def _operands(conversion: Mixture) -> str:
    """The operator between the types of its operands: "ndarray * Tensor"."""
    node = conversion.site.node
    if isinstance(node, ast.Compare):
        symbol = _SYMBOLS[type(node.ops[0])]
        return f"Tensor {symbol} ndarray" if node.left is conversion.argument else f"ndarray {symbol} Tensor"
    assert isinstance(node, (ast.BinOp, ast.AugAssign))
    return f"ndarray {_SYMBOLS[type(node.op)]}{'=' if isinstance(node, ast.AugAssign) else ''} Tensor"


def repair(conversion: Mixture, style: RepairStyle) -> tuple[Operation, ...]:
    statement = conversion.site.statement
    if conversion.kind == "put into tensor" or conversion.would_cut_gradient:
        return ()
    if isinstance(statement, ast.AugAssign) and statement.target is conversion.argument:
        return ()
    if isinstance(statement, ast.Assign) and statement.value is conversion.argument and len(statement.targets) > 1:
        return ()  # the other targets would get the array as well
    return convert_argument(conversion, style)
