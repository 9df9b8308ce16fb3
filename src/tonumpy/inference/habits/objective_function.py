"""# The objective of a SciPy optimizer gets arrays (objective-function)

## What it believes

A function that its module passes to `scipy.optimize` gets what SciPy optimizes: an array or a number.

## Why

It is written for that, though others may call it, too.

## Example

```python
import torch
from scipy.optimize import minimize


def objective(point):
    return torch.as_tensor(point).numpy().sum()


def optimised(start):
    return minimize(objective, start).x
```
"""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import Import, path_of
from tonumpy.inference.knowledge.scipy_optimizers import functions_given, is_optimizer
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module

EFFECT = "silence"
APPLIES_TO = ("parameter",)


def is_meant(module: Module, name: str) -> bool:
    if not module.text.says("holds", "scipy"):
        return False
    return any(_optimizes(module, callee) for callee in module.derived(_handed_to, module.tree).get(name, ()))


def _handed_to(tree: ast.Module) -> dict[str, set[str]]:
    """What each name, `f` for `self.f`, is given to where an optimizer would expect a function."""
    found: dict[str, set[str]] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for given in functions_given(call):
                found.setdefault((path_of(given) or "").removeprefix("self."), set()).add(path_of(call.func) or "")
    return found


def _optimizes(module: Module, callee: str) -> bool:
    root, dot, rest = callee.partition(".")
    imports = [each for each in module.names.bindings.get(root, ()) if isinstance(each, Import) and not each.level]
    return any(is_optimizer(f"{each.full_name}{dot}{rest}") for each in imports)
