"""# `.numpy()` without `.detach()` or `.cpu()` (TNP101)

## What it does

Reports `.numpy()` on a tensor that may require grad or be on a GPU, where the call chain neither detaches the tensor
nor moves it to the CPU. Silent where the code proves that the missing link is not needed, or catches the error and
converts in another way. In a function that is given to `torch.vmap` or to `grad`, `grad_and_value`, `jacrev`, `jacfwd`,
`vjp`, `jvp` or `hessian` of `torch.func`, it reports every conversion of what these wrap: nothing makes it right there.

## Why is this bad

With grad mode on, a tensor that requires grad raises `RuntimeError: Can't call numpy() on Tensor that requires grad`. A
tensor on a GPU raises `TypeError: can't convert cuda:0 device type tensor to numpy`. Code that has only run on a CPU or
under `torch.no_grad()` hides both errors.

## Example

```python
import torch


def to_array(x: torch.Tensor):
    return x.numpy()
```

## Use instead

```python
import torch


def to_array(x: torch.Tensor):
    return x.detach().cpu().numpy()
```

The fix adds both links even where the message names one error. Both are free where they are not needed: they return the
tensor itself, or a view of it.

## Fix safety

Safe where the value is proved or likely to be a torch tensor. Unsafe (`--unsafe-fixes` only) where its type is unknown
and torch is merely the only array framework of the module: your own class may have a method `numpy` and no `.detach()`.
"""

from tonumpy.conversions import MethodConversion
from tonumpy.detectors.completeness import Complete
from tonumpy.engine.names.torch_transforms import transformed_around
from tonumpy.findings import RepairStyle
from tonumpy.phrases import at_risk, at_risk_briefly, lost, subject
from tonumpy.repair.operations import Operation, complete_chain
from tonumpy.text.candidates import Candidate
from tonumpy.wanted_errors import OF_GRAD

CODE = "TNP101"
ON_BY_DEFAULT = True


def concerns(complete: Complete) -> list[Candidate]:
    return [each for each in complete.candidates if transformed_around(complete.source, each.scopes, each.call)]


def check(conversion: MethodConversion) -> str | None:
    chain, transform = conversion.chain, conversion.transformed
    if transform is not None and OF_GRAD not in conversion.errors_made_good:
        place = f"within `{transform.name}` (line {transform.row})"
        return f"`.numpy()` on {subject(conversion)} {place}: raises RuntimeError, and no link helps; convert outside"
    if conversion.site.is_forced or chain.detach or chain.cpu:
        return None
    if not (conversion.may_raise_by_grad or conversion.may_raise_by_device):
        return None
    return f"`.numpy()` on {at_risk(conversion)}{lost(conversion)}"


def brief(conversion: MethodConversion) -> str:
    transform = conversion.transformed
    if transform is not None and OF_GRAD not in conversion.errors_made_good:
        return f"`.numpy()` on a tensor within `{transform.name}` (line {transform.row}): RuntimeError"
    return f"`.numpy()` on {at_risk_briefly(conversion)}"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:
    return () if conversion.transformed is not None else complete_chain(conversion, style)
