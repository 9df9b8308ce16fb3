"""# A package is called elsewhere as by the scripts of its repository (callers-in-scripts)

## What it believes

If scripts and tools beside an installable package are all that calls a public function of it, others call it so, too:
with tensors without grad or on the CPU, or under `torch.no_grad()`. Tests, documents and examples show nothing.

## Why

The train and evaluation scripts of a repository are what its functions were written for. It is not proof: whoever
installs the package may call it otherwise, so `--confidence low` shows what it silences. Where a part of the package
calls the function as well, no habit is asked: all calls in sight speak for all. Nor where nothing can be installed:
there is nobody else.

## Example

```python
# package/ops.py
import torch


def spread(scores: torch.Tensor):
    return scores.cpu().numpy().std()


# tools/train.py
import torch
from package.ops import spread


def evaluate(model, batch):
    with torch.no_grad():
        return spread(model(batch))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis, Where

ID = "callers-in-scripts"
EFFECT = "silence"
APPLIES_TO = ("parameter",)


def basis(name: str, where: Where) -> Basis | None:
    """The habit of a function of a package, which the script at `where` calls."""
    return where.habit(ID, f"`{name}` is public, but only scripts of its repository call it, as here")
