"""# A function of data returns data (function-of-data)

## What it believes

A function whose definition is not visible, called with numbers that require no grad, returns nothing that requires
grad, unless its name is that of a model (`embed`, `forward_features`, `vgg_net`).

## Why

It has no trainable parameters.

## Example

```python
import torch
from helpers import smooth


def show(image: torch.Tensor):
    return smooth(image.detach() + 1.0).cpu().numpy()
```
"""

from __future__ import annotations

import re

EFFECT = "silence"
APPLIES_TO = ("call result",)

_MODEL = (
    r"(?i)model|net(work)?(_|$)|module|layer|encode|decode|embed|forward|predict|infer|extract|feature|backbone|head|policy"
    r"|actor|critic|generat|sample|render"
)


def speaks_of_model(name: str) -> bool:
    """Whether it has something to learn, or speaks for what has."""
    return re.search(_MODEL, name) is not None
