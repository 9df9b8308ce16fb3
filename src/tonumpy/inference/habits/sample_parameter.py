"""# What a method of a Dataset is given as a sample is of the Dataset (sample-parameter)

## What it believes

`def plot(self, sample)` in a class that extends a Dataset is given what the Dataset gives.

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
