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

EFFECT = "silence"
APPLIES_TO = ("call result",)

_NAMES = r"(^|_|2|to)cpu$"


def is_meant(name: str) -> bool:
    return "cpu" in name and re.search(_NAMES, name) is not None
