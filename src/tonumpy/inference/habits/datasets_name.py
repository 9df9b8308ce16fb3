"""# What several datasets hold requires no grad (datasets-name)

## What it believes

Out of what is called `dataset` or `datasets` comes nothing that requires grad.

## Why

A dataset holds data.

## Example

```python
import torch


def first(make):
    for sizes in make.all_datasets:
        return sizes.cpu().numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset(("dataset", "datasets"))


def is_meant(name: str) -> bool:
    return name.rpartition("_")[2] in _WORDS
