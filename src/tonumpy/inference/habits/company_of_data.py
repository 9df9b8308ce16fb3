"""# What is worked on together with data is data (company-of-data)

## What it believes

A parameter or an attribute of which nothing is known, and what is made of nothing but such and data, is on the CPU
without grad where it is worked on together with data that is known to be.

## Why

Torch refuses operands on different devices, and what has something to learn is a module's or an optimizer's.

## Example

```python
import torch


def shifted(offset: torch.Tensor):
    return (torch.rand(3) + offset).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
