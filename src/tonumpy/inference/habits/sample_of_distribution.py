"""# `dist.sample()` draws without grad (sample-of-distribution)

## What it believes

`dist.sample()` of a variable named like a distribution does not require grad.

## Why

A draw with grad is called `rsample`, in torch and in libraries modelled on it.

## Example

```python
import torch


def draw(dist):
    return dist.sample().cpu().numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)

_WORDS = frozenset("dist distr distrib distribution".split())


def is_meant(name: str, owner: str) -> bool:
    return name == "sample" and owner.rpartition("_")[2] in _WORDS
