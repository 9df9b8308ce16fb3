"""# `collate_fn` gets dataset items (collate-function)

## What it believes

A function called `collate_fn`, `collate_batch`, `collate_fn_padded`, or a class called `Collator`, gets items of a
dataset.

## Why

That is what torch's DataLoader passes to such a function.

## Example

```python
import torch


def collate_fn(samples):
    return [sample["image"].numpy() for sample in samples]
```
"""

from __future__ import annotations

import re
from functools import lru_cache

EFFECT = "silence"
APPLIES_TO = ("parameter",)

_NAMES = r"(^|_)collat(e|er)(_(fn|func|function)(_|$)|_(batch|data|samples)$|$)|Collat(e|er|or)($|For|With)"


@lru_cache(maxsize=4096)
def is_meant(name: str) -> bool:
    return re.search(_NAMES, name) is not None
