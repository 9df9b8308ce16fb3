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

from tonumpy.conversions import Conversion
from tonumpy.phrases import at_risk, lost
from tonumpy.repair.operations import complete_chain

CODE = "TNP102"
ON_BY_DEFAULT = True
repair = complete_chain


def check(conversion: Conversion) -> str | None:
    chain = conversion.chain
    if conversion.candidate.is_forced or not chain.cpu or not conversion.may_raise_by_grad:
        return None
    undone = chain.undoes_detach
    lacking = f"`{chain.cpu.words}` without `.detach()` before `.numpy()`"
    what = f"`{undone.words}` can undo the detach; `.numpy()`" if undone else lacking
    return f"{what} on {at_risk(conversion)}{lost(conversion)}"
