"""# A sample is drawn without grad (sample-of-distribution)

## What it believes

`dist.sample()` of what is called a distribution does not require grad.

## Why

What is drawn with its grad is called `rsample`, in torch and in what is modelled on it.

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
