"""# The `sample` parameter of a Dataset's method is one of its items (sample-parameter)

## What it believes

`def plot(self, sample)` in a subclass of Dataset gets an item of that Dataset.

## Why

Methods of a Dataset that take a `sample`, `item` or `example` show or transform one.

## Example

```python
import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def plot(self, sample):
        return sample["image"].numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter",)

_NAMES = frozenset("sample samples item items example examples".split())


def is_meant(name: str) -> bool:
    return name in _NAMES
