"""# Parts of a batch require no grad (part-of-batch)

## What it believes

What is taken out of a `batch` or `minibatch`, and what is taken out of `data` by name, does not require grad, unless a
visible function or module computed it.

## Why

A batch is a model's input: a record, a graph or a dict of tensors from a dataset.

## Example

```python
import torch


def show(batch: dict[str, torch.Tensor]):
    return batch["image"].cpu().numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "key", "attribute")

_WORDS = frozenset(("batch", "minibatch"))


def is_batch(name: str) -> bool:
    return name.rpartition("_")[2] in _WORDS


def is_meant(name: str, *, has_names: bool) -> bool:
    """`has_names`: the part is taken by its name. Data whose parts are counted may be a tensor."""
    return is_batch(name) or (has_names and name.rpartition("_")[2] == "data")
