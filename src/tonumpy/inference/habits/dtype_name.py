"""# What is called a dtype is one (dtype-name)

## What it believes

What is called `dtype` or `weight_dtype`, and of which nothing is known, is a dtype: `.to(dtype)` moves nothing.

## Why

Nobody calls a device or a tensor so.

## Example

```python
import torch


def cast(n: int, dtype):
    return torch.rand(n).to(dtype).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "attribute")


def is_meant(name: str) -> bool:
    return name.rpartition("_")[2] == "dtype"
