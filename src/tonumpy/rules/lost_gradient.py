"""# Loss computed from a detached array (TNP203)

## What it does

Reports a detached conversion whose array returns to torch (`torch.tensor(...)`, `torch.from_numpy(...)`) and is trained
on: `backward()` is called on the result, in the function itself or in one of the same module that gets the result, or
the `forward` of a loss returns it. Nothing else takes part in that loss but labels and constants. Where the gradient of
the tensor itself is wanted (its `.grad` is read, an optimizer is given it), nothing is reported; nor of what a target,
teacher, old or reference network gives, by its name, nor where a function of the module takes part in the loss, which
may call a model of its own, or where one gives the array that another makes a tensor of. `tonumpy rehearse` tells of
those while they run.

## Why is this bad

The graph ends at `.detach()`: the loss has no gradient with respect to the model, and the model does not train.
`requires_grad=True` silences the error of `backward()` and changes nothing else.

Where the conversion is not detached yet (TNP101, TNP102), the message says the same and the fix is unsafe: it would
remove the error that shows the fault.

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

A function that torch lacks needs a `torch.autograd.Function` with its own `backward`.

## Fix safety

There is no fix: only you know which torch functions replace the NumPy code.
"""

from tonumpy.conversions import MethodConversion
from tonumpy.detectors.completeness import Complete
from tonumpy.findings import Confidence
from tonumpy.phrases import without_gradient
from tonumpy.text.candidates import Candidate, is_in_row
from tonumpy.text.syntax import FUNCTIONS

CODE = "TNP203"
ON_BY_DEFAULT = True


def confidence(conversion: MethodConversion) -> Confidence:
    """The confidence that it is a tensor; at most medium if the array reaches the loss through other functions of the
    module, which are matched by name only."""
    function, row = conversion.site.scopes[-1], conversion.trained_in
    is_elsewhere = row is not None and isinstance(function, FUNCTIONS) and not is_in_row(function, row)
    of_kind = conversion.confidence_of_kind
    return "medium" if is_elsewhere and of_kind == "high" else of_kind


def concerns(complete: Complete) -> list[Candidate]:
    return [candidate for candidate in complete.candidates if complete.loses_gradient(candidate) is not None]


def check(conversion: MethodConversion) -> str | None:
    if conversion.trained_in is None or conversion.chain.detach is None:
        return None
    cut = f"`{conversion.chain.detach.words}` cuts the gradient"
    return f"{cut}: {without_gradient(conversion)}; compute the loss with torch"


def brief(conversion: MethodConversion) -> str:
    detach = conversion.chain.detach
    return f"`{detach.words}` cuts the gradient of the loss in line {conversion.trained_in}" if detach else ""
