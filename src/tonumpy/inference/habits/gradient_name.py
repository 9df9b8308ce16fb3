"""# Gradients require no grad (gradient-name)

## What it believes

A parameter called `grad`, `gradients` or `grad_output` does not require grad, in a module that builds no graphs of
gradients.

## Why

A backward hook gets the gradients of a tensor, or of a module's inputs and outputs.

## Example

```python
import torch


def hook(module, grad_input, grad_output):
    return grad_output[0].cpu().numpy()
```
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.evidence import Basis, Where

EFFECT = "silence"
APPLIES_TO = ("parameter",)

_WORDS = frozenset("grad grads gradient gradients".split())
_OF_HOOKS = frozenset(f"grad_{of}" for of in "in ins out outs input inputs output outputs".split())


def of_parameter(name: str, module: Module, where: Where) -> Basis | None:
    is_meant = name.rpartition("_")[2] in _WORDS or name in _OF_HOOKS
    if not is_meant or module.words.makes_graphs_of_gradients:
        return None
    return where.habit("gradient-name", f"`{name}` is named like a gradient")
