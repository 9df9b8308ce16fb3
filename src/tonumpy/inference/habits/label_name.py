"""# What is called a label requires no grad (label-name)

## What it believes

A parameter, attribute, key or variable of a loop that is called `labels`, `targets`, `gt`, `truth`, `classes`,
`faces`, or that counts something (`lens`, `lengths`), or masks tokens (`attention_mask`), does not require grad. Of
where it is nothing is believed.

## Why

Class labels and the lengths of sequences (not of edges) count something, the faces of a mesh are the indices of its
vertices, an attention or padding mask says which tokens there are, ground truth comes from a dataset, and the running
statistics of a normalization are buffers. None is learnt.

## Example

```python
import torch


def score(labels):
    return labels.cpu().numpy()
```
"""

from __future__ import annotations

import re

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset("label labels classes target targets gt groundtruth truth row col faces".split())
_NAMES = (
    r"(^|_)(attention|padding)_masks?$|(^|_)(?<!edge_)(?<!bond_)[a-z]?len(gth)?s$|[a-z_]len$"
    r"|^(gt|idx|target)_|[a-z]ids$|^[yY]_true$|^running_(mean|var)$"
)


def is_meant(name: str) -> bool:
    # To look the last word up in a set takes a tenth of the time of a regular expression.
    return name.rpartition("_")[2] in _WORDS or re.search(_NAMES, name) is not None
