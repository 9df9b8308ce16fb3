"""# What would raise for its grad in a test has raised (passed-test)

## What it believes

In a test of code in sight nothing requires grad where that would raise.

## Why

Its authors run it on every machine, and whether something requires grad does not depend on the machine.

## Example

```python
import torch


def test_sum(model):
    assert model(torch.rand(3)).cpu().numpy().sum() > 0
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
