"""# Tensor changes when its array is overwritten (TNP202)

## What it does

Reports a tensor that is read after the array that shares its memory was overwritten in place: by `a[...] =`, `a +=`,
`a.sort()`, `np.copyto(a, b)`, `np.add.at(a, ...)`, `rng.shuffle(a)` or `out=a`. Off by default.

The conversion, the write and the read must stand in one function, or in functions of the same module that it calls, two
calls deep. `x.numpy()[0] = 1` and `rng.shuffle(x.numpy())` are not reported: they write to the tensor on purpose.

Tensors that torch makes in an array's memory count as well: `torch.from_numpy(array)`, `torch.as_tensor(array)`,
`torch.asarray(array)`, `torch.from_dlpack(array)`, `torch.frombuffer(array, ...)`. `.to(device)`, `.float()` and
`dtype=...` mostly copy, so their results are not reported. NumPy's functions for tensors (see TNP201) count too.

## Why is this bad

On the CPU array and tensor are one memory, so the tensor changes with the array, unseen by autograd. Nothing raises. On
a GPU `.cpu()` copies, so the same code gives other results there.

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

Unsafe: writing to a tensor through its array may be intended, which is why the rule is off by default. Of 17 findings
in 680 public repositories 11 were right, and ten of these were lessons that show the shared memory.
`torch.from_numpy(array)` gets a `.clone()`.
"""

from functools import partial
from operator import attrgetter

from tonumpy.detectors.completeness import Complete
from tonumpy.phrases import overwritten, overwritten_briefly
from tonumpy.related import of_written_array
from tonumpy.repair.operations import end_sharing
from tonumpy.text.candidates import Candidate

CODE = "TNP202"
ON_BY_DEFAULT = False
JUDGES = ("receivers", "memory")
FIX_IS_UNSAFE = True
check = partial(overwritten, written="array")
brief = partial(overwritten_briefly, written="array")
confidence = attrgetter("confidence_of_sharing")
repair = end_sharing
related = of_written_array


def concerns(complete: Complete) -> list[Candidate]:
    written = complete.sharing().of_arrays
    return [candidate for candidate in complete.candidates if candidate.call in written]
