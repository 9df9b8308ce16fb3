"""# Where nobody speaks of another device, results are where their operands are (no-other-device)

## What it believes

In a module that names no device but the CPU, a call out of sight gives what is on the CPU where it is given such.

## Why

Code that moves tensors says so, and mostly takes a `device` to move them to.

## Example

```python
import torch
from helpers import smooth


def show(n: int):
    with torch.no_grad():
        return smooth(torch.zeros(n)).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
