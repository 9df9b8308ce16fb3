"""# `detach(x)` returns a tensor without grad (detaching-function)

## What it believes

`detach(x)`, `detach_to_cpu(x)`: the result of a function or method with such a name does not require grad, if its
definition is not visible.

## Why

The name says so.

## Example

```python
import torch
from helpers import detach_all


def show(image):
    return detach_all(image).cpu().numpy()
```
"""

from __future__ import annotations

from tonumpy.inference.lattice.beliefs import without_grad
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.habits import Call
    from tonumpy.inference.lattice.evidence import Where
    from tonumpy.inference.lattice.values import Value

EFFECT = "silence"
APPLIES_TO = ("call result",)

_WORDS = frozenset(("detach", "detached"))


def of_call(result: Value, call: Call, where: Where) -> Value:
    if _WORDS.isdisjoint(call.name.split("_")):
        return result
    return without_grad(result, where.habit("detaching-function", f"`{call.name}` is named for detaching"))
