"""# A tensor that shares memory with an array that is written later (TNP202)

## What it does

Reports a conversion whose array is written in place (`a[...] =`, `a +=`, `a.sort()`, `np.copyto(a, b)`,
`np.add.at(a, ...)`, `rng.shuffle(a)`, `out=a`) before the tensor that it came from is read again. All three are in
sight, in the function itself or in one of the same module that it calls; the write also in one that is imported from
the same repository. What is written as `x.numpy()[0] = 1` or `rng.shuffle(x.numpy())` is meant for the tensor. Off by
default.

What torch makes of an array in the same memory counts as well: `torch.from_numpy(array)`, `torch.as_tensor(array)`,
`torch.asarray(array)`, `torch.from_dlpack(array)`, `torch.frombuffer(array, ...)`. `.to(device)`, `.float()` and
`dtype=...` mostly copy: nothing is said of what they give. NumPy's functions for tensors, those of TNP201, count too.

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

Unsafe: writing to a tensor by its array may be what is meant, which is why the rule is off by default. Of 17 findings
in 680 public repositories 11 were right, and ten of these stood in lessons that show the shared memory.
`torch.from_numpy(array)` gets a `.clone()`.
"""

from __future__ import annotations

from operator import attrgetter

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.phrases import overwritten
from tonumpy.repair.operations import end_sharing

if TYPE_CHECKING:
    from tonumpy.conversions import Conversion, ImplicitConversion
    from tonumpy.inference.completeness import Complete
    from tonumpy.text.candidates import Candidate

CODE = "TNP202"
ON_BY_DEFAULT = False
JUDGES = ("receivers", "memory")
confidence = attrgetter("confidence_of_sharing")
FIX_IS_UNSAFE = True
repair = end_sharing


def concerns(complete: Complete) -> list[Candidate]:
    written = complete.sharing().of_arrays
    return [candidate for candidate in complete.candidates if candidate.call in written]


def check(conversion: Conversion | ImplicitConversion) -> str | None:
    shared = conversion.array_written
    return overwritten(conversion, shared, "array") if shared else None
