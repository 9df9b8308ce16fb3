"""# An index requires no grad (index-name)

## What it believes

A value called `id`, `idx`, `index`, `kept_inds` and the like does not require grad, wherever it comes from.

## Why

Indices are integers, and integer tensors cannot require grad.

## Example

```python
import torch


def kept(boxes, nms):
    kept_inds = nms(boxes)
    return kept_inds.cpu().numpy()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset("id ids ind inds idx idxs index indices indexes".split())


def of_computed(name: str, where: Where) -> Basis | None:
    if name.rpartition("_")[2] not in _WORDS:
        return None
    return where.habit("index-name", f"`{name}` is named like an index")
