"""# What is brought to the CPU but not detached requires no grad (cpu-alone)

## What it believes

In `x.cpu().numpy()`, a parameter that has no annotation, or an item of one, does not require grad, where nothing else
says that it is a tensor. Not if it is named like what a model computes or learns (`logits`, `loss`, `weight`).

## Why

Who writes `.cpu()` has run the line with a tensor on a GPU, and it would have raised for one that requires grad. A
function that is annotated with `torch.Tensor`, or tests for it, takes any tensor: nothing is assumed of that.

## Example

```python
import torch


def show(axis, points):
    axis.scatter(points[:, 0].cpu().numpy(), points[:, 1].cpu().numpy())
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("parameter",)
