"""# Tensor passed to NumPy, Matplotlib, pandas, ... (TNP104)

## What it does

Reports a tensor, or a list of tensors, passed to a function that converts it to a NumPy array, where the code shows
that this fails:

- it requires grad: it is a Parameter, `.backward()` was called on it, or it is the output of a module (or computed from
  one) and grad mode is not known to be off;
- it is on a GPU, or on a device chosen at run time: `.to(device)`, `.to(args["device"])`, `device=args.device`;
- NumPy lacks its dtype (`bfloat16`, `float8`, quantized) or layout (sparse, `mkldnn`);
- its conjugate or negative bit is set.

Such functions are known for NumPy, Matplotlib, pandas, SciPy, scikit-learn, seaborn, plotly, wandb, scikit-image,
statsmodels, xarray, polars, trimesh, XGBoost, LightGBM, h5py, imageio, soundfile, librosa, Open3D and shap. What
callers in the same module pass to a function counts too, and so do functions that are handed over: `map(np.asarray,
tensors)`, and the result of an objective given to an optimizer of SciPy, `minimize(objective, start)`. There is one
finding a call, at its first failing argument.

Unlike `.numpy()` (TNP101), a mere doubt is not reported: these functions get arrays far more often than tensors, and on
46 measured repositories most such doubts were wrong.

## Why is this bad

These functions call `.numpy()` on the tensor for you. `plt.plot(losses)` raises `RuntimeError: Can't call numpy() on
Tensor that requires grad`; `np.asarray(x)` raises `TypeError: can't convert cuda:0 device type tensor to numpy` on a
GPU.

Which functions convert was measured on the libraries themselves. NumPy's own differ: `np.median(x)`, `np.stack([x, y])`
and `np.exp(x)` convert; `np.mean(x)`, `np.sum(x)` and `np.squeeze(x)` call the tensor's own method and are not
reported, but `np.mean([x, y])` is. Functions that take no tensor at all (`PIL.Image.fromarray`, `cv2.resize`,
`librosa.stft`) are not reported: that code never worked. Nor is torch's own `SummaryWriter`, which takes every tensor.

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

## Fix safety

Safe where the function returns for an array exactly what it returns for a CPU tensor. Unsafe elsewhere: `np.exp` and
other universal functions return a tensor for a tensor and an array for an array, and the result of an objective may
have other readers. There is no fix for a list that is filled elsewhere: convert what goes into it, with
`losses.append(loss.item())` for one number and `.detach().cpu().numpy()` for more. If the list is also used for
training, convert a copy.
"""

from __future__ import annotations

import ast

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.phrases import in_trouble
from tonumpy.repair.operations import convert_arguments
from tonumpy.sinks.fillings import filling_of

if TYPE_CHECKING:
    from tonumpy.conversions import ImplicitConversion

CODE = "TNP104"
ON_BY_DEFAULT = True
JUDGES = ("arguments",)
repair = convert_arguments


def check(conversion: ImplicitConversion) -> str | None:
    if not conversion.trouble:
        return None
    others = len(conversion.others)
    more = "; 1 more argument raises too" if others == 1 else f"; {others} more arguments raise too" if others else ""
    advice = f"; {_place_to_convert(conversion)}" if conversion.of_items else ""
    return f"`{conversion.function}` converts {in_trouble(conversion)}{more}{advice}"


def _place_to_convert(conversion: ImplicitConversion) -> str:
    """Of the tensors of a list: where they are put in, unless something else reads the list and may need tensors."""
    filling = filling_of(conversion.site, conversion.argument)
    if filling is None:
        return "convert each tensor before it goes into the list"
    if filling.other_reader is not None:
        name = ast.unparse(conversion.argument)
        here = f"`[each.detach().cpu().numpy() for each in {name}]`"
        return f"convert a copy, {here}, as line {filling.other_reader} reads the list too"
    if len(filling.calls) > 1:
        return f"convert where the list is filled: lines {', '.join(str(call.lineno) for call in filling.calls)}"
    (call,) = filling.calls
    return f"convert at line {call.lineno}, `{ast.unparse(call)}`"
