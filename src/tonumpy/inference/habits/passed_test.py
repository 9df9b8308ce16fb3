"""# A test that passes does not raise (passed-test)

## What it believes

In a test of code that is visible, nothing requires grad where that would raise.

## Why

Its authors run it on every machine, and whether a tensor requires grad does not depend on the machine.

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
