"""# An array that shares memory with a tensor that is written later (TNP201)

## What it does

Reports a conversion whose array is still read after the tensor that it came from has been written in place: by
`x[...] =` or `x +=`, by a method that ends in `_`, by `out=x`, by a collective of `torch.distributed`, or, where it is
a parameter, by an optimizer's `step()`, by `load_state_dict()` or by a function of `torch.nn.init`; its grad also by
`clip_grad_norm_()` and `zero_grad(set_to_none=False)`. All three are in sight: the conversion, the write and the read,
each in the function itself or in one of the same module that it calls; the write also in one that is imported from the
same repository. In a loop the write may stand above the conversion: the next round writes what this one keeps.
Branches are told apart that no run takes both: those of a flag, or of `args.mode == "eval"`, which nothing changes.

NumPy's functions that share memory with a tensor on the CPU count like `.numpy()`: `np.asarray(x)`, `np.asanyarray(x)`,
`np.ascontiguousarray(x)`, `np.from_dlpack(x)`, `x.__array__()`. So do torch's that share it with an array, such as
`torch.from_numpy(array)`, where the tensor is written and the array read. NumPy 2 refuses `np.array(x, copy=False)`.

## Why is this bad

On the CPU the array and the tensor are one memory, so the array changes with the tensor: every snapshot of the weights
in a list shows the last ones, every stored observation the latest. Nothing raises. On an accelerator `.cpu()` makes a
copy, so the same code gives other results there.

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

`.copy()` copies once more what has come from an accelerator. Where that matters, `.to("cpu", copy=True)` in place of
`.cpu()` copies exactly once on every device.

## Fix safety

Unsafe: it changes what the code gives on the CPU, which is its purpose, but an array may share memory on purpose.
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

CODE = "TNP201"
ON_BY_DEFAULT = True
JUDGES = ("receivers", "memory")
confidence = attrgetter("confidence_of_sharing")
FIX_IS_UNSAFE = True
repair = end_sharing


def concerns(complete: Complete) -> list[Candidate]:
    written = complete.sharing().of_tensors
    return [candidate for candidate in complete.candidates if candidate.call in written]


def check(conversion: Conversion | ImplicitConversion) -> str | None:
    shared = conversion.tensor_written
    return overwritten(conversion, shared, "tensor") if shared else None
