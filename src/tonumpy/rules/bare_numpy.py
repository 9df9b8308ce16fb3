"""# `.numpy()` on a tensor that may require grad or be on an accelerator (TNP101)

## What it does

Reports a call of `.numpy()` whose chain neither detaches the tensor nor brings it to the CPU, unless the code around
it proves that at least the doubtful one of the two is not needed, or catches the error and converts in another way.

## Why is this bad

`.numpy()` raises `RuntimeError: Can't call numpy() on Tensor that requires grad` for a tensor that requires grad while
grad mode is on, and `TypeError: can't convert cuda:0 device type tensor to numpy` for a tensor on an accelerator.
Code that was only run on a CPU, or only under `torch.no_grad()`, does not show it.

## Example

```python
import torch


def to_array(x: torch.Tensor):
    return x.numpy()
```

## Use instead

```python
import torch


def to_array(x: torch.Tensor):
    return x.detach().cpu().numpy()
```

Neither link costs anything where it is not needed: both return the tensor itself, or a view of it.

## Fix safety

Safe where the receiver is proved, or by its own words is, a torch tensor. Unsafe (applied with `--unsafe-fixes` only)
where nothing is known about it but that torch is the only array framework the module uses: a class of your own with a
method `numpy` has no `.detach()`.
"""

from tonumpy.conversions import Conversion
from tonumpy.phrases import at_risk, lost
from tonumpy.repair.operations import complete_chain

CODE = "TNP101"
ON_BY_DEFAULT = True
repair = complete_chain


def check(conversion: Conversion) -> str | None:
    chain = conversion.chain
    if conversion.candidate.is_forced or chain.detach or chain.cpu:
        return None
    if not (conversion.may_raise_by_grad or conversion.may_raise_by_device):
        return None
    return f"`.numpy()` on {at_risk(conversion)}{lost(conversion)}"
