"""# A tensor that requires grad or is on an accelerator given to NumPy, Matplotlib, pandas, ... (TNP104)

## What it does

Reports a torch tensor (or a list of tensors) that is given to a function of NumPy, Matplotlib, pandas, SciPy,
scikit-learn, seaborn, plotly, wandb, scikit-image, statsmodels, xarray, polars, trimesh, XGBoost, LightGBM, h5py,
imageio, soundfile, librosa, Open3D or shap that makes an array of it, where something in sight speaks for trouble:
that it requires grad (it is a Parameter, `.backward()` was called on it, or it is made by a module, or of what one
has made, and grad mode is not known to be off), or that it is on an accelerator or on a device that is chosen at run
time (`.to(device)`, `.to(args["device"])`, `device=args.device`), or that it is of a dtype (`bfloat16`, `float8`,
quantized) or a layout (sparse, `mkldnn`) that NumPy does not have, or has its conjugate or negative bit set. What
callers in the same module give to a function counts as well, and so does what is handed over with one:
`map(np.asarray, tensors)`, and what a function gives that is handed to an optimizer of SciPy: `minimize(objective,
start)`. One finding a call, at the first of its arguments that is in trouble.

Of `.numpy()` it is reported that it may raise as soon as the opposite is not proved. Not so here: these functions are
given arrays far more often than tensors, and measured on 46 repositories most such doubts were wrong.

## Why is this bad

These functions call `.numpy()` for you, on the tensor as it is. `plt.plot(losses)` raises
`RuntimeError: Can't call numpy() on Tensor that requires grad`, and `np.asarray(x)` raises
`TypeError: can't convert cuda:0 device type tensor to numpy` on an accelerator.

Which functions convert was measured on the libraries themselves. NumPy's own functions differ: `np.median(x)`,
`np.stack([x, y])` and `np.exp(x)` convert; `np.mean(x)`, `np.sum(x)` and `np.squeeze(x)` call the tensor's method of
that name and are not reported, but `np.mean([x, y])` is. What takes no tensor at all (`PIL.Image.fromarray`,
`cv2.resize`, `librosa.stft`) is not reported either: it never worked; nor is torch's own `SummaryWriter`, whose
`add_histogram` and the like take every tensor.

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

Safe where the function gives of an array exactly what it gives of a tensor on the CPU. Unsafe where it does not:
`np.exp` and other universal functions hand a tensor back as a tensor, and an array as an array; and what is given to
an optimizer may be given to others as well. There is no fix for a
list that is filled elsewhere: convert what goes into it, `losses.append(loss.item())` for one number and
`.detach().cpu().numpy()` for more.
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
