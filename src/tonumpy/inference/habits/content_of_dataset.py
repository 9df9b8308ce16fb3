"""# Items and attributes of a Dataset are on the CPU without grad (content-of-dataset)

## What it believes

The items that a subclass of Dataset returns, and what its constructor keeps, are on the CPU and require no grad, unless
the code shows that they are moved, or computed from something that requires grad.

## Why

Workers share them and a loader collates them; neither accepts tensors that require grad.

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
