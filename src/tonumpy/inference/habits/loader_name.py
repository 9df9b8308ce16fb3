"""# `train_loader` is a DataLoader (loader-name)

## What it believes

`loader`, `train_loader`, `val_dl`, `dataloaders` are torch's DataLoader, which builds batches on the CPU from dataset
items. Not if the call that creates it is passed a loader or a device: it may move batches elsewhere.

## Why

torch's tutorials name it so, and nearly everybody does.

## Example

```python
import torch


def collect(train_loader):
    return [image.numpy() for image, _ in train_loader]
```
"""

from __future__ import annotations

import re
from functools import lru_cache

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "attribute")

_NAMES = (
    r"(^|_)((train|val|valid|eval|dev|test)?(data_?)?loaders?(_(train|val|valid|validation|dev|test))?|dl)$"
    r"|^([tT]rain|[vV]al(id)?|[eE]val|[tT]est|data)(Data|Img)?Loaders?$"
)


@lru_cache(maxsize=4096)
def is_meant(name: str) -> bool:
    return re.search(_NAMES, name) is not None
