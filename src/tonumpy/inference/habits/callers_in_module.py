"""# Others call a public function as its own module does (callers-in-module)

## What it believes

What every call in the module of a public function, or of a public method that short ones call on `self`, gives it
detached requires no grad; and where all of these calls stand under `torch.no_grad()`, so do those of others. Of where
it is nothing is believed.

## Why

Who wrote both knows what the function is for. It is no proof: others may import it and give it what a model made, so
they are shown at low confidence; and where another file of the repository does so, nothing of it is believed. A
function whose name begins with `_`, and one of a script whose functions no other file imports, is called by nobody
else: there its calls are proof.

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

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.inference.lattice.evidence import Basis, Where

ID = "callers-in-module"
EFFECT = "silence"
APPLIES_TO = ("parameter",)


def basis(name: str, rows: Iterable[int], where: Where) -> Basis | None:
    """The habit of a function of this name, which these rows of its module call."""
    called = sorted(set(rows))
    lines = f"line {called[0]}" if len(called) == 1 else f"lines {', '.join(map(str, called))}"
    return where.habit(ID, f"`{name}` is public, but its module calls it only without grad: {lines}")
