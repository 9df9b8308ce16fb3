"""# A function that is passed "cpu" returns a CPU value (cpu-argument)

## What it believes

A call whose definition is not visible, with the CPU device as an argument, returns a value on the CPU: `to_device(x,
"cpu")`.

## Why

Such an argument names the destination.

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
