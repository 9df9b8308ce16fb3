"""# A `dataset` holds CPU data (dataset-name)

## What it believes

Items of `dataset`, `trainset`, `val_ds`, `dataset_val`, by index or in a loop, require no grad and are on the CPU; so
are its tensors, `dataset.targets`.

## Why

Datasets are read from files by worker processes, and are too large for a GPU.

## Example

```python
import torch


def first(dataset):
    return dataset[0]["image"].numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter", "binding", "attribute")

_DATASETS = frozenset(("dataset", "dset", "ds"))
_SPLITS = frozenset("train training test testing val valid validation dev eval".split())
_SETS = _SPLITS | {"data"}


def is_meant(name: str) -> bool:
    first, _, last = name.rpartition("_")
    if last in _DATASETS or (first in _DATASETS and last in _SPLITS):
        return True
    return name.endswith("set") and name[:-3].removesuffix("_") in _SETS
