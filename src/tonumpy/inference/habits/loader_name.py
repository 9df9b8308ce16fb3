"""# What is called a loader is torch's DataLoader (loader-name)

## What it believes

`loader`, `train_loader`, `val_dl`, `dataloaders`: torch's own, whose batches are made on the CPU from what a dataset
holds. Not if the call that made it is given a loader or a device: it may bring batches elsewhere.

## Why

So torch's own tutorials call it, and nearly everybody after them.

## Example

```python
import torch


def collect(train_loader):
    return [image.numpy() for image, _ in train_loader]
```
"""

from __future__ import annotations

import re

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "attribute")

_NAMES = (
    r"(^|_)((train|val|valid|eval|dev|test)?(data_?)?loaders?(_(train|val|valid|validation|dev|test))?|dl)$"
    r"|^([tT]rain|[vV]al(id)?|[eE]val|[tT]est|data)(Data|Img)?Loaders?$"
)


def is_meant(name: str) -> bool:
    return re.search(_NAMES, name) is not None
