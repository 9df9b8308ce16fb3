"""# What is handed to an optimizer of SciPy is given arrays (objective-function)

## What it believes

A function that its module hands to a function of `scipy.optimize` is given what that optimises: an array, or a number.

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
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module

EFFECT = "silence"
APPLIES_TO = ("parameter",)

_OPTIMIZERS = "scipy.optimize."
_KEYWORDS = ("fun", "func", "f", "jac", "fprime")  # of the function that is optimised, or of its gradient


def is_meant(module: Module, name: str) -> bool:
    return "scipy" in module.source.text and module.derived_of(_is_handed_over, name)


def _is_handed_over(module: Module, name: str) -> bool:
    rows = module.source.rows_with(name)
    calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call)) if len(rows) > 1 else ()
    return any(_optimizes(module, call) and name in _functions_of(call) for call in calls)


def _optimizes(module: Module, call: ast.Call) -> bool:
    root, dot, rest = (path_of(call.func) or "").partition(".")
    imports = [each for each in module.names.bindings.get(root, ()) if isinstance(each, Import) and not each.level]
    return any(f"{_full_name(each)}{dot}{rest}".startswith(_OPTIMIZERS) for each in imports)


def _full_name(imported: Import) -> str:
    if imported.binds_root:
        return imported.module.partition(".")[0]
    return ".".join(filter(None, (imported.module, imported.name)))


def _functions_of(call: ast.Call) -> list[str | None]:
    """As `f` or `self.f`, by the last name."""
    given = [*call.args[:1], *(each.value for each in call.keywords if each.arg in _KEYWORDS)]
    return [(path_of(each) or "").removeprefix("self.") for each in given]
