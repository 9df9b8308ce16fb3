"""# Items of `datasets` require no grad (datasets-name)

## What it believes

What comes out of a variable called `dataset` or `datasets` requires no grad.

## Why

A dataset holds data.

## Example

```python
import torch


def first(make):
    for sizes in make().all_datasets:
        return sizes.cpu().numpy()
```
"""

from __future__ import annotations

from tonumpy.inference.lattice.values import Unknown, Value
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.lattice.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset(("dataset", "datasets"))


def of_name(name: str, value: Value, where: Where) -> Basis | None:
    if not isinstance(value, Unknown) or name.rpartition("_")[2] not in _WORDS:
        return None
    return where.habit("datasets-name", f"`{name}` is named like a dataset")
