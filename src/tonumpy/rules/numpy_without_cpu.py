"""# `.detach().numpy()` without `.cpu()` (TNP103)

## What it does

Reports a conversion that detaches the tensor (`.detach()` or `.data`) but does not move it to the CPU. Silent where the
code proves that the tensor is on the CPU. A `.cpu()` does not count if `.cuda()` or another `.to(...)` follows it.

## Why is this bad

`.detach()` leaves the tensor on its device, so on a GPU `.numpy()` raises `TypeError: can't convert cuda:0 device type
tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.`

## Example

```python
import torch


def weights(model: torch.nn.Linear):
    return model.weight.detach().numpy()
```

## Use instead

```python
import torch


def weights(model: torch.nn.Linear):
    return model.weight.detach().cpu().numpy()
```

## Fix safety

As for TNP101: safe where the value is proved or likely to be a torch tensor, unsafe otherwise.
"""

from tonumpy.conversions import MethodConversion
from tonumpy.phrases import at_risk, at_risk_briefly
from tonumpy.repair.operations import complete_chain

CODE = "TNP103"
ON_BY_DEFAULT = True
repair = complete_chain


def check(conversion: MethodConversion) -> str | None:
    chain = conversion.chain
    if conversion.transformed is not None:  # TNP101 says that no link helps
        return None
    if conversion.site.is_forced or not chain.detach or not conversion.may_raise_by_device:
        return None
    undone = chain.undoes_cpu
    lacking = f"`{chain.detach.words}` without `.cpu()` before `.numpy()`"
    what = f"`{undone.words}` undoes the move to the CPU; `.numpy()`" if undone else lacking
    return f"{what} on {at_risk(conversion)}"


def brief(conversion: MethodConversion) -> str:
    undone = conversion.chain.undoes_cpu
    what = f"`{undone.words}` before `.numpy()`" if undone else "`.numpy()` without `.cpu()`"
    return f"{what} on {at_risk_briefly(conversion)}"
