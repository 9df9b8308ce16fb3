"""# A loss that is made of an array alone (TNP203)

## What it does

Reports a conversion of a tensor that is detached, where what NumPy makes of its array comes back into torch
(`torch.tensor(...)`, `torch.from_numpy(...)`) and is trained on: `backward()` is called on it, in the function itself
or by one of the same module that calls it, or it is what the `forward` of a loss returns. Nothing else has a part in
that loss but labels and constants.

## Why is this bad

The graph ends at `.detach()`: the loss has no gradient with respect to what it was computed from, and nothing is
learnt. `requires_grad=True` silences the error that `backward()` would raise, and changes nothing else.

Where the conversion is not detached yet (TNP101, TNP102) the message says the same, and the repair is unsafe: it would
take the error away that shows the fault.

## Example

```python
import numpy as np
import torch


def train(net: torch.nn.Linear, x, target):
    difference = net(x).detach().cpu().numpy() - target.cpu().numpy()
    loss = torch.tensor(np.abs(difference).mean(), requires_grad=True)
    loss.backward()
```

## Use instead

```python
import torch


def train(net: torch.nn.Linear, x, target):
    loss = (net(x) - target).abs().mean()
    loss.backward()
```

A function that torch does not have needs a `torch.autograd.Function` with a `backward` of its own.

## Fix safety

There is no fix: what torch's own functions are for what NumPy computes is for you to say.
"""

from __future__ import annotations

from operator import attrgetter

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.conversions import Conversion
    from tonumpy.findings import Style
    from tonumpy.inference.completeness import Complete
    from tonumpy.repair.operations import Operation
    from tonumpy.text.candidates import Candidate

CODE = "TNP203"
ON_BY_DEFAULT = True
confidence = attrgetter("confidence_of_kind")


def concerns(complete: Complete) -> list[Candidate]:
    return [candidate for candidate in complete.candidates if complete.loses_gradient(candidate) is not None]


def check(conversion: Conversion) -> str | None:
    if conversion.trained_in is None or conversion.chain.detach is None:
        return None
    cut = f"`{conversion.chain.detach.words}` cuts the gradient: line {conversion.trained_in}"
    return f"{cut} trains on a loss computed from this array alone; compute the loss with torch"


def repair(conversion: Conversion, style: Style) -> tuple[Operation, ...]:  # noqa: ARG001
    return ()
