"""# `.cpu().numpy()` on a tensor that may require grad (TNP102)

## What it does

Reports a conversion that brings the tensor to the CPU (`.cpu()`, or `.to("cpu")`) but does not detach it, unless the
code around it proves that the tensor does not require grad or that grad mode is off. An earlier `.detach()` does not
count where something after it may bring a grad again: `.requires_grad_()`, or an operand as in `.mul(weight)`.

## Why is this bad

`.cpu()` keeps the tensor on the autograd graph, so `.numpy()` still raises
`RuntimeError: Can't call numpy() on Tensor that requires grad`.

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

`.detach()` goes before `.cpu()`: the other way round the copy to the CPU is recorded on the graph for nothing.

## Fix safety

As for TNP101: safe where the receiver is proved, or by its own words is, a torch tensor; unsafe otherwise.
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
    place = f"after `{chain.undoes_detach.words}`" if chain.undoes_detach else "before `.numpy()`"
    return f"`{chain.cpu.words}` without `.detach()` {place} on {at_risk(conversion)}{lost(conversion)}"
