"""# What a helper of tests is given is on the CPU (test-parameter)

## What it believes

What a function in a module of tests is given is on the CPU, unless that function speaks of devices itself.

## Why

Tests make what they work on, where no accelerator need be; the tests of one say so.

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
