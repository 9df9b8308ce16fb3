"""# `labels` require no grad (label-name)

## What it believes

A parameter (of a lambda, too), attribute, key or loop variable called `labels`, `targets`, `gt`, `truth`, `classes`,
`faces`, one that counts something (`lens`, `lengths`) or masks tokens (`attention_mask`), does not require grad.
Nothing is assumed about its device.

## Why

Class labels and sequence lengths (not those of edges) are counts, faces of a mesh are vertex indices, masks mark
tokens, ground truth comes from a dataset, and running statistics of a normalization are buffers. None of them is
trained.

## Example

```python
import torch


def score(labels: torch.Tensor):
    return labels.cpu().numpy()
```
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where
    from tonumpy.engine.values.values import Value

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset("label labels classes target targets gt groundtruth truth row col faces".split())
_NAMES = (
    r"(^|_)(attention|padding)_masks?$|(^|_)(?<!edge_)(?<!bond_)[a-z]?len(gth)?s$|[a-z_]len$"
    r"|^(gt|idx|target)_|[a-z]ids$|^[yY]_true$|^running_(mean|var)$"
)


@lru_cache(maxsize=4096)
def is_meant(name: str) -> bool:
    # To look the last word up in a set takes a tenth of the time of a regular expression.
    return name.rpartition("_")[2] in _WORDS or re.search(_NAMES, name) is not None


def of_name(name: str, _: Value, where: Where) -> Basis | None:
    if not is_meant(name):
        return None
    return where.habit("label-name", f"`{name}` is named like a label, a length or a mask")
