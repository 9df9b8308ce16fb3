"""# A public function is called elsewhere as in its own module (callers-in-module)

## What it believes

If every call in its module passes a public function (or a public method that short methods call on `self`) detached
values, its parameter requires no grad; if all these calls are under `torch.no_grad()`, so are the others. Nothing is
assumed about the device.

## Why

Whoever wrote both knows what the function is for. It is not proof: others may import the function and pass it a model's
output, so `--confidence low` shows what it silences; and it does not apply where another file of the repository does
so. A function whose name begins with `_`, and one of a script that no other file imports, has no other callers: there
its calls are proof.

## Example

```python
import torch


def spread(scores: torch.Tensor):
    return scores.cpu().numpy().std()


def report(scores: torch.Tensor):
    return spread(scores.detach())
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.engine.values.evidence import Basis, Where

ID = "callers-in-module"
EFFECT = "silence"
APPLIES_TO = ("parameter",)


def basis(name: str, rows: Iterable[int], where: Where) -> Basis | None:
    """The habit of a function of this name, which these rows of its module call."""
    called = sorted(set(rows))
    lines = f"line {called[0]}" if len(called) == 1 else f"lines {', '.join(map(str, called))}"
    return where.habit(ID, f"`{name}` is public, but its module calls it only without grad: {lines}")
