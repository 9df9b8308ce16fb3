"""# Needless `.clone()` or `.copy()` (TNP301)

## What it does

Reports `.clone()` before `.numpy()`, or `.copy()` after it, where another part of the same chain already copies:
`.cpu()` of a GPU tensor, an operator, a torch function or method that never returns a view, or another `.clone()`. Off
by default.

## Why is this bad

On the CPU the array shares the tensor's memory, and one copy separates them. The second copies memory that nothing else
can see. On four million numbers `x.clone().numpy().copy()` takes 0.9 ms and `x.clone().numpy()` 0.5 ms, and the first
needs three times the memory for a moment, instead of twice.

## Example

```python
import torch


def snapshot(x: torch.Tensor):
    return x.detach().clone().cpu().numpy().copy()
```

## Use instead

```python
import torch


def snapshot(x: torch.Tensor):
    return x.detach().clone().cpu().numpy()
```

## Fix safety

Safe: the array keeps its own memory and values. Not offered where an in-place method stands between the two copies.
"""

import ast
from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.findings import RepairStyle
from tonumpy.repair.operations import Operation, RemoveLink

CODE = "TNP301"
ON_BY_DEFAULT = False
concerns = attrgetter("candidates")
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    found = _needless(conversion)
    if found is None:
        return None
    call, reason = found
    place = "after" if _name(call) == "copy" else "before"
    return f"`.{_name(call)}()` {place} `.numpy()` is a needless second copy: {reason} has already copied"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    found = _needless(conversion)
    return (RemoveLink(found[0]),) if found else ()


def _needless(conversion: MethodConversion) -> tuple[ast.Call, str] | None:
    """The needless call, and the other copy in words; None if all are needed."""
    copies = conversion.copies
    after = _copy_after(conversion) if copies else None
    if after is not None:
        return after, _described(copies[-1])
    for at, node in enumerate(copies):
        other = copies[at - 1]  # the one before it, or the last of all
        if _is_plain(node, "clone") and other is not node and (at or not _writes_in_place(conversion)):
            assert isinstance(node, ast.Call)
            return node, _described(other)
    return None


def _is_plain(call: ast.expr, name: str) -> bool:
    """True for a call of a method or function with this name, without arguments."""
    return _name(call) == name and isinstance(call, ast.Call) and not call.args and not call.keywords


def _copy_after(conversion: MethodConversion) -> ast.Call | None:
    """The plain `.copy()` that follows the conversion, in `x.numpy().copy()`; else None."""
    call = conversion.site.call
    for node in ast.walk(conversion.site.statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.value is call:
            return node if _is_plain(node, "copy") else None
    return None


def _writes_in_place(conversion: MethodConversion) -> bool:
    return any(link.attribute is not None and link.attribute.attr.endswith("_") for link in conversion.chain.links)


def _name(node: ast.expr) -> str | None:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def _described(node: ast.expr) -> str:
    name = _name(node)
    return f"`{name}()`" if name else "the operator"
