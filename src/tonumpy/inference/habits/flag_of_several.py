"""# A flag that several calls of one function give is the same of all (flag-of-several)

## What it believes

Where a function of the repository gives a value and a flag (`x, is_numpy = to_torch(x)`), and several calls of it bind
the same flag for several values, the flag tells of all of them: where the last is an array, so are the others.

## Why

Who asks for the flag of the last call alone takes it for that of all. It is not proof: one may be an array and the
other a tensor.

## Example

```python
import numpy as np
import torch


def to_torch(x):
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x).float(), True
    return x, False


def overlap(a, b):
    a, is_numpy = to_torch(a)
    b, is_numpy = to_torch(b)
    shared = torch.minimum(a, b)
    return shared.numpy() if is_numpy else shared
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("binding",)


def basis(name: str, where: Where) -> Basis | None:
    """The habit of a flag that several calls bind."""
    return where.habit("flag-of-several", f"`{name}` is bound by several calls of one function")
