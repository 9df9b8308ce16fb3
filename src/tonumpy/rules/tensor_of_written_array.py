"""# A tensor that shares memory with an array that is written later (TNP202)

## What it does

Reports a conversion whose array is written in place (`a[...] =`, `a +=`, `a.sort()`, `np.copyto(a, b)`,
`np.add.at(a, ...)`, `rng.shuffle(a)`, `out=a`) before the tensor that it came from is read again. All three are in
sight, in the function itself or in one of the same module that it calls; the write also in one that is imported from
the same repository. What is written as `x.numpy()[0] = 1` or `rng.shuffle(x.numpy())` is meant for the tensor. Off by
default.

## Why is this bad

On the CPU the array and the tensor are one memory, so the tensor changes with the array, behind autograd's back.
Nothing raises. On an accelerator `.cpu()` makes a copy, so the same code gives other results there.

## Example

```python
import torch


def clipped(x: torch.Tensor):
    array = x.detach().cpu().numpy()
    array[array < 0] = 0
    return array, x.sum()
```

## Use instead

```python
import torch


def clipped(x: torch.Tensor):
    array = x.detach().cpu().numpy().copy()
    array[array < 0] = 0
    return array, x.sum()
```

## Fix safety

Unsafe: writing to a tensor by its array may be what is meant, which is why the rule is off by default. Of four
findings in some 120 public repositories, three stood in lessons that show the shared memory, and one was beside the
point.
"""

from __future__ import annotations

from operator import attrgetter

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.repair.operations import copy_array

if TYPE_CHECKING:
    from tonumpy.conversions import Conversion
    from tonumpy.inference.completeness import Complete
    from tonumpy.text.candidates import Candidate

CODE = "TNP202"
ON_BY_DEFAULT = False
confidence = attrgetter("confidence_of_sharing")
FIX_IS_UNSAFE = True
repair = copy_array


def concerns(complete: Complete) -> list[Candidate]:
    written = complete.sharing().of_arrays
    return [candidate for candidate in complete.candidates if candidate.call in written]


def check(conversion: Conversion) -> str | None:
    shared = conversion.array_written
    if shared is None:
        return None
    return f"{shared.words}: line {shared.write} writes the array, then line {shared.read} reads the tensor"
