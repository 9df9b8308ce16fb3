"""# Tensor read before its copy has arrived (TNP204)

## What it does

Reports what reads a tensor on the host while `.to("cpu", non_blocking=True)`, in all its spellings, may still be
copying it there. A read is `.numpy()`, `np.asarray`, `.tolist()`, `.item()`, `float()`, printing, arithmetic,
`.clone()`, a cast. A view of the copy, and a second `.cpu()`, wait for nothing.

Copy and read must stand in one function, with no branch or loop between them. What another function makes or reads,
what stands in a list, a dict or memory that was pinned before (`pinned.copy_(x, non_blocking=True)`) is left to
`tonumpy rehearse`. The finding stands at the first read.

Nothing is reported after what may wait: `torch.cuda.synchronize()`, the `synchronize()` of a stream or of an event, a
blocking read of another tensor (`.item()`, `.cpu()`, `.nonzero()`, printing), or a function that is not torch's.
`wait_stream` and `wait_event` let a stream wait, and not the host.

## Why is this bad

torch returns at once and copies in the background. On a GPU with work in its queue what is read is what the memory held
before: 29 of 30 arrays were wrong on an H100. Nothing raises, and on an idle GPU the values are right. Each way of
copying and reading was measured on an H200.

## Example

```python
import torch


def scores(net: torch.nn.Linear, batch):
    found = net.cuda()(batch.cuda())
    return found.detach().to("cpu", non_blocking=True).numpy()
```

## Use instead

```python
import torch


def scores(net: torch.nn.Linear, batch):
    found = net.cuda()(batch.cuda())
    return found.detach().to("cpu", non_blocking=False).numpy()
```

Where several copies are read together, keep them and write one `torch.cuda.synchronize()` before the first read: the
copies then run beside each other.

## Fix safety

Safe: it says `non_blocking=False`, and the copy waits for itself.
"""

import ast

from tonumpy.conversions import EarlyRead
from tonumpy.findings import Ground, RepairStyle
from tonumpy.repair.operations import MakeFalse, Operation

CODE = "TNP204"
ON_BY_DEFAULT = True
JUDGES = ("copies",)


def check(conversion: EarlyRead) -> str:
    copy, method = conversion.copy, conversion.method
    what = "this reads" if method is None else f"`.{method.attr}()` reads"
    where = "" if copy.lineno == conversion.argument.lineno else f" of line {copy.lineno}"
    return f"{what} what `{conversion.function}`{where} may still be copying: wrong values on a busy GPU"


def brief(conversion: EarlyRead) -> str:
    what = "reads" if conversion.method is None else f"`.{conversion.method.attr}()` reads"
    return f"{what} a tensor that line {conversion.copy.lineno} may still be copying: wrong values on a busy GPU"


def repair(conversion: EarlyRead, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    copy = conversion.copy
    by_name = [each.value for each in copy.keywords if each.arg == "non_blocking"]
    asked = (*by_name, *copy.args[-1:])[0]
    is_plain = isinstance(asked, ast.Constant) and asked.value is True
    return (MakeFalse(asked, "non_blocking"),) if is_plain else ()


def related(conversion: EarlyRead, filename: str) -> tuple[Ground, ...]:
    message = "starts a copy and does not wait for it"
    return (Ground("code", "memory", "", message, filename, conversion.copy.lineno),)
