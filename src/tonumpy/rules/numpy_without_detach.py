"""# `.cpu().numpy()` without `.detach()` (TNP102)

## What it does

Reports a conversion that moves the tensor to the CPU (`.cpu()` or `.to("cpu")`) but does not detach it. Silent where
the code proves that the tensor does not require grad or that grad mode is off. An earlier `.detach()` does not count if
a later step can bring grad back: `.requires_grad_()`, or an operand as in `.mul(weight)`.

## Why is this bad

`.cpu()` keeps the tensor on the autograd graph, so `.numpy()` still raises `RuntimeError: Can't call numpy() on Tensor
that requires grad`.

## Example

```python
import torch


def loss_value(loss: torch.Tensor):
    return loss.cpu().numpy()
```

## Use instead

```python
import torch


def loss_value(loss: torch.Tensor):
    return loss.detach().cpu().numpy()
```

Put `.detach()` before `.cpu()`: otherwise autograd records the copy to the CPU for nothing.

## Fix safety

As for TNP101: safe where the value is proved or likely to be a torch tensor, unsafe otherwise.
"""

import ast

from tonumpy.conversions import MethodConversion
from tonumpy.engine.knowledge.chains import Link, Role
from tonumpy.phrases import at_risk, at_risk_briefly, lost
from tonumpy.repair.operations import complete_chain

CODE = "TNP102"
ON_BY_DEFAULT = True
repair = complete_chain


def check(conversion: MethodConversion) -> str | None:
    chain = conversion.chain
    if conversion.transformed is not None:  # TNP101 says that no link helps
        return None
    if conversion.site.is_forced or not chain.cpu or not conversion.may_raise_by_grad:
        return None
    undone = chain.undoes_detach
    if undone is None:
        return f"`{chain.cpu.words}` without `.detach()` before `.numpy()` on {at_risk(conversion)}{lost(conversion)}"
    told, where = _undoing(undone, conversion), f"; detach after `{undone.words}`"
    return f"{told}; `.numpy()` on {at_risk(conversion)}{where}{lost(conversion)}"


def brief(conversion: MethodConversion) -> str:
    undone = conversion.chain.undoes_detach
    what = f"`{undone.words}` before `.numpy()`" if undone else "`.numpy()` without `.detach()`"
    return f"{what} on {at_risk_briefly(conversion)}"


def _undoing(link: Link, conversion: MethodConversion) -> str:
    """Say which link restores grad after the detach, and how: by itself, or by its arguments."""
    if link.role is Role.GRAD:
        return f"`{link.words}` {'undoes' if conversion.requires_grad else 'can undo'} the detach"
    assert isinstance(link.node, ast.Call)
    is_one = len(link.node.args) + len(link.node.keywords) == 1
    given = "its argument" if is_one else "one of its arguments"
    return f"`{link.words}` can undo the detach, because {given} may require grad"
