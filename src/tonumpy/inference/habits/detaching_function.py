"""# `detach(x)` returns a tensor without grad (detaching-function)

## What it believes

`detach(x)`, `detach_to_cpu(x)`: the result of a function or method with such a name does not require grad, if its
definition is not visible.

## Why

The name says so.

## Example

```python
import torch
from helpers import detach_all


def show(image):
    return detach_all(image).cpu().numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)

_WORDS = frozenset(("detach", "detached"))


def is_meant(name: str) -> bool:
    return not _WORDS.isdisjoint(name.split("_"))
