"""# `.detach().numpy()` on a tensor that may be on an accelerator (TNP103)

## What it does

Reports a conversion that detaches the tensor (`.detach()`, or `.data`, which counts as such) but does not bring it to
the CPU, unless the code around it proves that the tensor is there. A `.cpu()` does not count where `.cuda()` or another
`.to(...)` after it takes the tensor away again.

## Why is this bad

`.detach()` leaves the tensor where it is, so on an accelerator `.numpy()` raises
`TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.`

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

As for TNP101: safe where the receiver is proved, or by its own words is, a torch tensor; unsafe otherwise.
"""

from tonumpy.conversions import Conversion
from tonumpy.phrases import at_risk
from tonumpy.repair.operations import complete_chain

CODE = "TNP103"
ON_BY_DEFAULT = True
repair = complete_chain


def check(conversion: Conversion) -> str | None:
    chain = conversion.chain
    if conversion.candidate.is_forced or not chain.detach or not conversion.may_raise_by_device:
        return None
    place = f"after `{chain.undoes_cpu.words}`" if chain.undoes_cpu else "before `.numpy()`"
    return f"`{chain.detach.words}` without `.cpu()` {place} on {at_risk(conversion)}"
