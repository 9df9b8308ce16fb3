"""# `dtype` is a dtype (dtype-name)

## What it believes

A value of unknown type called `dtype` or `weight_dtype` is a dtype: `.to(dtype)` moves nothing.

## Why

Nobody gives that name to a device or a tensor.

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
