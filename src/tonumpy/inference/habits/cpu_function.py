"""# A function that is called to_cpu brings what it is given to the CPU (cpu-function)

## What it believes

`to_cpu(x)`, `batch_to_cpu(x)`, `tensor2cpu(x)`: what a function or method of such a name gives is on the CPU, where
its definition is out of sight.

## Why

The function says so. It is the name of what is done, not of what something is.

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
