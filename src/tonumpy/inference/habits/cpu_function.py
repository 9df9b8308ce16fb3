"""# `to_cpu(x)` returns a CPU value (cpu-function)

## What it believes

`to_cpu(x)`, `batch_to_cpu(x)`, `tensor2cpu(x)`: a function or method with such a name returns a value on the CPU, if
its definition is not visible.

## Why

The name says what the function does, not what something is.

## Example

```python
import torch
from helpers import to_cpu


def show(image):
    with torch.no_grad():
        return to_cpu(image).numpy()
```
"""

from __future__ import annotations

import re

from tonumpy.inference.lattice.beliefs import left_on_cpu
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.habits import Call
    from tonumpy.inference.lattice.evidence import Where
    from tonumpy.inference.lattice.values import Value

EFFECT = "silence"
APPLIES_TO = ("call result",)

_NAMES = r"(^|_|2|to)cpu$"


def of_call(result: Value, call: Call, where: Where) -> Value:
    if "cpu" not in call.name or re.search(_NAMES, call.name) is None:
        return result
    return left_on_cpu(result, where.habit("cpu-function", f"`{call.name}` is named for moving to the CPU"))
