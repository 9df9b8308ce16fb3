"""# Tensor passed to NumPy, Matplotlib, pandas, ... (TNP104)

## What it does

Reports a tensor, or a list of tensors, passed to a function that converts it to a NumPy array, where the code shows
that this fails:

- it requires grad: it is a Parameter, `.backward()` was called on it, or it is the output of a module (or computed from
  one) and grad mode is not known to be off;
- it is on a GPU, or on a device chosen at run time: `.to(device)`, `.to(args["device"])`, `device=args.device`;
- NumPy lacks its dtype (`bfloat16`, `float8`, quantized) or layout (sparse, `mkldnn`);
- its conjugate or negative bit is set.

Such functions are known for NumPy, Matplotlib, pandas, SciPy and other libraries. What
callers in the same module pass to a function counts too, and so do functions that are handed over: `map(np.asarray,
tensors)`, and the result of a function that an optimizer, sampler or solver calls, `minimize(objective, start)`. There
is one finding a call, at its first failing argument.

Some objects keep the tensor that they are made with, and fail when they are drawn or used: `ax.add_patch(patch)` for
`patch = plt.Rectangle((x, y), width, height)`. The finding is at the call that made them.

A call that fails for every tensor is reported wherever its argument is surely one: `cv2.resize(image)`,
`PIL.Image.fromarray(image)`, `json.dumps({"loss": loss})`, `np.any(mask)`.

Unlike `.numpy()` (TNP101), a mere doubt is not reported: these functions get arrays far more often than tensors, and on
46 measured repositories most such doubts were wrong.

## Why is this bad

These functions call `.numpy()` on the tensor for you. `plt.plot(losses)` raises `RuntimeError: Can't call numpy() on
Tensor that requires grad`; `np.asarray(x)` raises `TypeError: can't convert cuda:0 device type tensor to numpy` on a
GPU.

Which functions convert was measured on the libraries. NumPy's own differ: `np.median(x)`,
`np.stack([x, y])` and `np.exp(x)` convert; `np.squeeze(x)` calls the tensor's own method and is not reported, but
`np.squeeze([x, y])` is; `np.mean(x)`, `np.sum(x)` and `np.max(x)` call it with arguments that it does not take, and
fail for every tensor. Torch's own `SummaryWriter` takes every tensor and is not reported.

## Example

```python
import numpy as np
import torch


def middle(x: torch.Tensor):
    return np.median(x.cuda())
```

## Use instead

```python
import numpy as np
import torch


def middle(x: torch.Tensor):
    return np.median(x.cuda().detach().cpu().numpy())
```

The fix adds both links even where the message names one error: both are free where they are not needed.

## Fix safety

Safe where the function returns for an array exactly what it returns for a CPU tensor. Unsafe where it fails for every
tensor, or returns something else: `np.exp` and other universal functions return a tensor for a tensor and an array for
an array, and the result of an objective may have other readers. There is no fix for a list that is filled elsewhere:
convert what goes into it, with `losses.append(loss.item())` for one number and `.detach().cpu().numpy()` for more. If
the list is also used for training, pass a converted copy. Nor is there one where arrays fail too, as with `json.dumps`.

Nor where torch uses the result (`torch.tensor(np.sum(losses))`, a `forward` that returns it, `backward()`): the array
has no gradient, and the model would not train. The message names torch's own function: `torch.stack(losses).sum()`.
"""

import ast

from tonumpy.conversions import ArgumentConversion
from tonumpy.findings import RepairStyle
from tonumpy.phrases import CONVERT, argument_at_risk, argument_briefly, used_in_torch
from tonumpy.related import of_argument
from tonumpy.repair.operations import Operation, convert_arguments

CODE = "TNP104"
ON_BY_DEFAULT = True
JUDGES = ("arguments",)
related = of_argument


def check(conversion: ArgumentConversion) -> str | None:
    if conversion.never:
        return _always_raises(conversion)
    if not conversion.risks:
        return None
    others = len(conversion.others)
    more = "; 1 more argument raises too" if others == 1 else f"; {others} more arguments raise too" if others else ""
    converts = "converts, when its object is used," if conversion.later else "converts"
    return f"`{conversion.function}` {converts} {argument_at_risk(conversion)}{more}{_advice(conversion)}"


def brief(conversion: ArgumentConversion) -> str:
    if conversion.never:
        return f"`{conversion.function}` fails for every tensor: `{conversion.never}`"
    return f"`{conversion.function}` converts {argument_briefly(conversion)}"


def repair(conversion: ArgumentConversion, style: RepairStyle) -> tuple[Operation, ...]:
    return () if conversion.would_cut_gradient else convert_arguments(conversion, style)


def _always_raises(conversion: ArgumentConversion) -> str:
    is_call = isinstance(conversion.site.call, ast.Call)
    cure = "" if conversion.takes_arrays or not is_call else "; pass `.tolist()` or `.item()`"
    what = f"a {conversion.of_items} of tensors" if conversion.of_items else "a tensor"
    when = " when its object is used" if conversion.later else ""
    words = f" ({conversion.words})" if conversion.words else ""
    return f"`{conversion.function}` is passed {what}, which always raises `{conversion.never}`{when}{words}{cure}"


def _advice(conversion: ArgumentConversion) -> str:
    if repair(conversion, "links"):
        return ""
    if not conversion.takes_arrays:
        return f"; pass `{''.join(f'.{link}()' for link in conversion.links or ()) or '.detach()'}` of it"
    if conversion.would_cut_gradient:
        return f"; {used_in_torch(conversion)}: use torch functions"
    where = f"convert each tensor before it goes into the {conversion.of_items}"
    return f"; {where if conversion.of_items else CONVERT}"
