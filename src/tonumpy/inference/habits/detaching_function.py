"""# A function that is called detach takes the grad from what it is given (detaching-function)

## What it believes

`detach(x)`, `detach_to_cpu(x)`: what a function or method of such a name gives does not require grad, where its
definition is out of sight.

## Why

The function says so.

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
