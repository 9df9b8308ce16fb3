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

from tonumpy.inference.lattice.beliefs import without_grad
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.habits import Call
    from tonumpy.inference.lattice.evidence import Where
    from tonumpy.inference.lattice.values import Value

EFFECT = "silence"
APPLIES_TO = ("call result",)

_WORDS = frozenset("dist distr distrib distribution".split())


def of_call(result: Value, call: Call, where: Where) -> Value:
    if call.name != "sample" or call.owner.rpartition("_")[2] not in _WORDS:
        return result
    message = f"`{call.owner}.{call.name}()` draws without grad"
    return without_grad(result, where.habit("sample-of-distribution", message))
