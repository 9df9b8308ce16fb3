"""# What is made by a function that is told "cpu" is there (cpu-argument)

## What it believes

A call out of sight, one of whose arguments is the CPU as a device, gives what is on the CPU: `to_device(x, "cpu")`.

## Why

Such an argument says where to.

## Example

```python
import torch
from helpers import load


def show(path):
    with torch.no_grad():
        return load(path, torch.device("cpu"))["image"].numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
