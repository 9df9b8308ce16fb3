"""# `.numpy()` on a dtype that NumPy lacks (TNP105)

## What it does

Reports a conversion of a tensor whose dtype is proved to have no NumPy counterpart: `bfloat16`, the `float8` dtypes,
`complex32` and the quantized ones; or is chosen at run time among dtypes of which NumPy lacks one: `torch.bfloat16 if
args.bf16 else torch.float32`, `DTYPES[args.dtype]`, and, in a module that speaks of bfloat16, `getattr(torch,
args.dtype)`. The output of a module that was cast as a whole, `Net().to(torch.bfloat16)`, is among them, and what a
product, a linear or convolutional layer, or a module that ends in one gives in the block of `with torch.autocast(...)`.
So are the buffers and parameters of such dtypes that a module in sight registers, reached through `state_dict()`.
What else autocast makes, or a default dtype, is not; a rehearsal finds that.

## Why is this bad

It always raises: `TypeError: Got unsupported ScalarType BFloat16`. Neither `.cpu()` nor `force=True` helps. It appears
when a model is switched to a smaller dtype and the code around it stays as it was.

## Example

```python
import torch


def half_precision(x: torch.Tensor):
    return x.to(torch.bfloat16).detach().cpu().numpy()
```

## Use instead

```python
import torch


def half_precision(x: torch.Tensor):
    return x.to(torch.bfloat16).detach().cpu().float().numpy()
```

`.float()` goes after `.cpu()`: half as many bytes (a quarter for `float8`) leave the GPU, and the wider copy needs no
GPU memory. `float32` holds every `bfloat16` and `float8` exactly.

## Fix safety

Safe, as the conversion raised before; unsafe where the dtype may be another than `float32` that NumPy has, such as
`float16`, which would become `float32`, and in files that read bytes (`tobytes`, `.nbytes`, `hashlib`, `struct`, ...):
those of `float32` are others, and `.view(torch.uint8)` keeps them. The fix adds `.float()`,
`.cfloat()` for `complex32` (`.float()` would drop the imaginary part) or `.dequantize()` for quantized tensors. torch
has no such method for packed dtypes such as `float4_e2m1fn_x2`.
"""

from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.engine.values.dtypes import is_choice, link_of_dtype, may_lack
from tonumpy.findings import RepairStyle
from tonumpy.phrases import dtype_chosen, lacking_choices
from tonumpy.repair.operations import AddLinks, Operation
from tonumpy.rules import concerns_named

CODE = "TNP105"
ON_BY_DEFAULT = True
concerns = concerns_named(r"bfloat16|float8|float4|complex32|chalf|quantize_per_|\bqu?int")
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    dtype = conversion.dtype
    if not may_lack(dtype):
        return None
    if is_choice(dtype):
        return f"`.numpy()` on a tensor of a dtype chosen at run time: {dtype_chosen(dtype)}"
    what = "a quantized tensor" if dtype == "quantized" else f"a tensor of dtype `{dtype}`"
    return f"`.numpy()` on {what}, which NumPy lacks: always raises TypeError"


def brief(conversion: MethodConversion) -> str:
    dtype = conversion.dtype
    if is_choice(dtype):
        return f"`.numpy()` on a tensor of a chosen dtype, maybe {lacking_choices(dtype)}: TypeError"
    what = "a quantized tensor" if dtype == "quantized" else f"a tensor of `{dtype}`"
    return f"`.numpy()` on {what}, which NumPy lacks: TypeError"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    link = link_of_dtype(conversion.dtype)
    return (AddLinks(conversion.site.attribute, (link,)),) if link else ()
