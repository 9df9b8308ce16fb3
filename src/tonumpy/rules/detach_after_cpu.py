"""# `.cpu()` before `.detach()` (TNP302)

## What it does

Reports a conversion that detaches the tensor only after copying it to the CPU, where grad mode may be on. Off by
default.

## Why is this bad

It works, but autograd records the copy of a tensor that requires grad: the result has a `grad_fn`, `ToCopyBackward0`,
which `.detach()` then drops. With six numbers on a simulated GPU the other order took 3.2 microseconds instead of 3.4;
on the CPU, where `.cpu()` copies nothing, there is no difference. So the point is clarity: after `.detach()` nothing
concerns autograd.

## Example

```python
import torch


def loss_value(loss: torch.Tensor):
    return loss.cpu().detach().numpy()
```

## Use instead

```python
import torch


def loss_value(loss: torch.Tensor):
    return loss.detach().cpu().numpy()
```

## Fix safety

Safe. Not offered where the links in between may lead to another object than the tensor itself.
"""

from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.repair.operations import detach_first

CODE = "TNP302"
ON_BY_DEFAULT = False
concerns = attrgetter("candidates")
confidence = attrgetter("confidence_of_kind")
repair = detach_first


def check(conversion: MethodConversion) -> str | None:
    if conversion.certainty == "possible" or conversion.grad_mode is False or not detach_first(conversion):
        return None
    return "`.cpu()` before `.detach()` records a useless copy in the autograd graph; detach first"
