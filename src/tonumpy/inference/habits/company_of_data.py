"""# A value combined with data is data (company-of-data)

## What it believes

A parameter or attribute of unknown origin, and what is computed only from such values and data, is on the CPU without
grad where it is combined with data that is known to be.

## Why

torch refuses operands on different devices, and trainable tensors belong to a module or an optimizer.

## Example

```python
import torch


def shifted(offset: torch.Tensor):
    return (torch.rand(3) + offset).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
