"""# Array changes when its tensor is overwritten (TNP201)

## What it does

Reports an array that is still read after the tensor it shares memory with was overwritten in place: by `x[...] =` or `x
+=`, by a method that ends in `_` or by `out=x`; for a parameter by an optimizer's `step()`, by `load_state_dict()` or
by `torch.nn.init`.

The conversion, the write and the read must stand in one function, or in functions of the same module that it calls, two
calls deep. In a loop the write may come before the conversion: the next iteration overwrites what this one keeps. The
branches of one `if` are told apart.

NumPy's functions that share memory with a CPU tensor count like `.numpy()`: `np.asarray(x)`, `np.asanyarray(x)`,
`np.from_dlpack(x)`. So do torch's functions that share memory with an array, such as `torch.from_numpy(array)`, if the
tensor is overwritten and the array read. NumPy 2 refuses `np.array(x, copy=False)`.

## Why is this bad

On the CPU array and tensor are one memory, so the array changes with the tensor: a list of weight snapshots holds the
last weights many times. Nothing raises. On a GPU `.cpu()` copies, so the same code gives other results there.

## Example

```python
import torch


def snapshots(model: torch.nn.Linear, optimizer: torch.optim.SGD):
    history = []
    for _ in range(3):
        optimizer.step()
        history.append(model.weight.detach().cpu().numpy())
    return history
```

## Use instead

```python
import torch


def snapshots(model: torch.nn.Linear, optimizer: torch.optim.SGD):
    history = []
    for _ in range(3):
        optimizer.step()
        history.append(model.weight.detach().cpu().numpy().copy())
    return history
```

A tensor that comes from a GPU is then copied twice. Where that matters, write `.to("cpu", copy=True)` instead of
`.cpu()`: it copies exactly once on every device.

## Fix safety

Unsafe: it changes what the code computes on the CPU. That is its purpose, but some code shares memory on purpose.
`torch.from_numpy(array)` gets a `.clone()`.
"""

from functools import partial
from operator import attrgetter

from tonumpy.detectors.completeness import Complete
from tonumpy.phrases import overwritten, overwritten_briefly
from tonumpy.related import of_written_tensor
from tonumpy.repair.operations import end_sharing
from tonumpy.text.candidates import Candidate

CODE = "TNP201"
ON_BY_DEFAULT = True
JUDGES = ("receivers", "memory")
FIX_IS_UNSAFE = True
check = partial(overwritten, written="tensor")
brief = partial(overwritten_briefly, written="tensor")
confidence = attrgetter("confidence_of_sharing")
repair = end_sharing
related = of_written_tensor


def concerns(complete: Complete) -> list[Candidate]:
    written = complete.sharing().of_tensors
    return [candidate for candidate in complete.candidates if candidate.call in written]
