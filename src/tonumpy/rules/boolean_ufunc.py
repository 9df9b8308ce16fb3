"""# Mask that is no mask (TNP205)

## What it does

Reports where the result of a boolean ufunc of NumPy (`np.isnan`, `isfinite`, `isinf`, `signbit`, `greater`, `less`,
`equal`, `logical_and` and their like) or of another library (`shapely.contains_xy`), called with a CPU tensor, is
inverted by `~`, is the index of an array, or is what a tensor is filled or selected by.

## Why is this bad

NumPy hands the result back as a tensor, and torch makes `uint8` of its booleans: 0 and 1. So `~np.isnan(t)` is 255 and
254, both of which are true: `t[~np.isnan(t)]` keeps the NaN, `(~np.isnan(t)).all()` is always true, its sum is in the
hundreds. As the index of an array 0 and 1 are rows: `array[np.isnan(t)]` takes the first two of them, again and again.
Nothing raises there. As the index of a tensor it is a mask still, but for an assignment of one value
(`t[np.isnan(t)] = 0`), `masked_fill` and `masked_select`, for which torch 2.13 raises RuntimeError.

## Example

```python
import numpy as np
import torch


def kept(scores: torch.Tensor):
    values = scores.detach().cpu()
    return values[~np.isnan(values)]
```

## Use instead

```python
import numpy as np
import torch


def kept(scores: torch.Tensor):
    values = scores.detach().cpu()
    return values[~torch.isnan(values)]
```

## Fix safety

There is no fix: call torch's function of the same name where all that it is given is of torch, and convert the tensor
before the ufunc where an array is wanted.
"""

from tonumpy.conversions import FalseMask

CODE = "TNP205"
ON_BY_DEFAULT = True
JUDGES = ("masks",)

_OUTCOMES = {
    "refused": ("torch fills and selects by no such mask, and raises RuntimeError", "RuntimeError as a mask"),
    "index": (
        "as an index of an array it takes the rows 0 and 1, and masks nothing",
        "as an index it takes rows 0 and 1",
    ),
    "inverted": ("`~` makes 255 and 254 of 0 and 1, which are both true", "`~` makes 255 and 254"),
}


def check(conversion: FalseMask) -> str:
    likely = "" if conversion.certainty == "tensor" else "likely "
    outcome, _ = _OUTCOMES[conversion.use]
    what = f"`{conversion.function}` of a {likely}tensor gives a tensor of uint8, not of bool: {outcome}"
    return f"{what}; call torch's own function, or convert the tensor before"


def brief(conversion: FalseMask) -> str:
    outcome = _OUTCOMES[conversion.use][1]
    return f"`{conversion.function}` of a tensor gives uint8, not bool: {outcome}"
