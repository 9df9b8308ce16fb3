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

from tonumpy.conversions import ImplicitConversion
from tonumpy.findings import Confidence, Ground, RepairStyle
from tonumpy.repair.operations import MakeFalse, Operation

CODE = "TNP204"
ON_BY_DEFAULT = True
JUDGES = ("copies",)


def confidence(conversion: ImplicitConversion) -> Confidence:
    """High where the tensor is on a device in sight, and nothing out of sight may have waited since."""
    return "high" if conversion.copied is not None and conversion.copied.is_sure else "medium"


def check(conversion: ImplicitConversion) -> str | None:
    copied = conversion.copied
    if copied is None:
        return None
    call, read = copied.call, conversion.argument
    method = copied.method_of(read)
    what = "this reads" if method is None else f"`.{method.attr}()` reads"
    where = "" if call.lineno == read.lineno else f" of line {call.lineno}"
    return f"{what} what `{conversion.function}`{where} may still be copying: wrong values on a busy GPU"


def brief(conversion: ImplicitConversion) -> str:
    copied = conversion.copied
    if copied is None:
        return ""
    method = copied.method_of(conversion.argument)
    what = "reads" if method is None else f"`.{method.attr}()` reads"
    return f"{what} a tensor that line {copied.call.lineno} may still be copying: wrong values on a busy GPU"


def repair(conversion: ImplicitConversion, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    assert conversion.copied is not None
    call = conversion.copied.call
    by_name = [each.value for each in call.keywords if each.arg == "non_blocking"]
    asked = (*by_name, *call.args[-1:])[0]
    is_plain = isinstance(asked, ast.Constant) and asked.value is True
    return (MakeFalse(asked, "non_blocking"),) if is_plain else ()


def related(conversion: ImplicitConversion, filename: str) -> tuple[Ground, ...]:
    assert conversion.copied is not None
    message = "starts a copy and does not wait for it"
    return (Ground("code", "memory", "", message, filename, conversion.copied.call.lineno),)
