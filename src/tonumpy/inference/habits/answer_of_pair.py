"""# The target of an (input, target) pair requires no grad (answer-of-pair)

## What it believes

Loop variables called `y`, `ys`, `batch_y`, `y_batch`, `yb`, `tb` do not require grad, unless the code shows that they
are computed.

## Why

A loader, or another iterator over data, yields pairs of input and target.

## Example

```python
import torch


def collect(source):
    return [y.cpu().numpy() for x, y in source.pairs()]
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("binding",)

_NAMES = r"^([yY]s?|batch_[yY]s?|[yY]s?_batch|[yt]b)$"


def of_item(name: str, where: Where) -> Basis | None:
    if re.search(_NAMES, name) is None:
        return None
    return where.habit("answer-of-pair", f"`{name}` is named like the target of an (input, target) pair")
