"""# A tensor created without `device=` is on the CPU (default-device)

## What it believes

`torch.zeros(3)` is on the CPU: no other code has told torch to create tensors elsewhere.

## Why

A program can call `torch.set_default_device("cuda")` or `torch.set_default_tensor_type(...)`, and few do. In a script
that does not, this is a fact and not a habit; a library or a test may be run by a program that does.

## Example

```python
import torch


def weights(size):
    return torch.linspace(0, 1, size).numpy()
```
"""

from __future__ import annotations

from tonumpy.engine.values.evidence import Evidence, Strength

EFFECT = "silence"
APPLIES_TO = ("call result",)

# Asked about nearly all that torch makes: it does not say where.
EVIDENCE = frozenset((Evidence(Strength.HABIT, "device", "default-device", "created without `device=`", "", 0),))
