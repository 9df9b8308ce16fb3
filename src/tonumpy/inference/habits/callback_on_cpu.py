"""# A class that moves to the CPU what it calls a function with hands it data (callback-on-cpu)

## What it believes

A function that is handed to the constructor of a class of another file of the repository, and is not called by its
name, gets what is on the CPU and requires no grad, if the class moves what it calls it with to the CPU on some path.

## Why

Such a class (a metric, a logger) has learned that the functions it is given work on arrays. It is not proof: it may
move under a condition, and what it is given may have grad.

## Example

```python
# tools/train.py
import torch
from package.ops import Metric


def loudness(wave: torch.Tensor):
    return wave.numpy().std()


metric = Metric(function=loudness)


# package/ops.py
class Metric:
    def __init__(self, function):
        self.function = function

    def add(self, outputs, lengths=None):
        if lengths is not None:
            outputs = [each[:length].cpu() for each, length in zip(outputs, lengths)]
        for each in outputs:
            self.function(each)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("parameter",)


def basis(name: str, taker: str, where: Where) -> Basis | None:
    """The habit of a function of this name that a class is given."""
    return where.habit("callback-on-cpu", f"`{taker}`, which is given `{name}`, moves to the CPU what it calls it with")
