"""# Items of `datasets` require no grad (datasets-name)

## What it believes

What comes out of a variable called `dataset` or `datasets` requires no grad.

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
