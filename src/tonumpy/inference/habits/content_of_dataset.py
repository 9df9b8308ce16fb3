"""# What a Dataset gives and keeps is on the CPU, without grad (content-of-dataset)

## What it believes

What a class that extends a Dataset gives as its items, and what its objects were given to keep, is on the CPU and
requires no grad, unless it is seen to be sent elsewhere or to be made of something that requires grad.

## Why

Workers share it, and a loader collates it; neither takes tensors that require grad.

## Example

```python
import torch
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, images):
        self.images = images

    def show(self, number):
        return self.images[number].numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter", "attribute", "call result")
