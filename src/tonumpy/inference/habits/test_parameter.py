"""# Arguments of a test helper are on the CPU (test-parameter)

## What it believes

Arguments of functions in test modules are on the CPU, unless the function mentions devices itself.

## Why

Tests create their own tensors, on machines that may have no GPU; tests of GPUs say so.

## Example

```python
import torch
import other


def test_mean():
    other.check(torch.mean, expected, torch.rand(3, device="cuda"))


def expected(values):
    return values.detach().numpy().mean()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter",)
