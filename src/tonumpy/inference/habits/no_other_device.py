"""# In a module without other devices, results stay on the CPU (no-other-device)

## What it believes

In a module that names no device but the CPU, a call whose definition is not visible returns a CPU value if its
arguments are on the CPU.

## Why

Code that moves tensors says so, and mostly takes a `device` argument.

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
