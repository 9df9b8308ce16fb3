"""# `.numpy()` on a tensor with its conjugate or negative bit set (TNP107)

## What it does

Reports a conversion of a tensor that is proved to be a lazy conjugate or negation: `.conj()`, `.mH`, `.H` and
`torch.conj` of a complex tensor set a bit and do not touch the values; the imaginary part of such a tensor has a
negative bit.

## Why is this bad

`.numpy()` raises `RuntimeError: Can't call numpy() on Tensor that has conjugate bit set`, and on the CPU
`.detach().cpu().numpy()` raises too. From a GPU it works, because `.cpu()` copies: code that has only run on a GPU
hides the error.

## Example

```python
import torch


def spectrum(signal: torch.Tensor):
    return torch.fft.fft(signal).conj().detach().cpu().numpy()
```

## Use instead

```python
import torch


def spectrum(signal: torch.Tensor):
    return torch.fft.fft(signal).conj().detach().cpu().resolve_conj().numpy()
```

`.resolve_conj()` and `.resolve_neg()` return the tensor itself where the bit is not set. `.numpy(force=True)` does
both.

## Fix safety

Safe: where the conversion did not raise, the added link returns the tensor itself.
"""

import re
from operator import attrgetter

from tonumpy.conversions import LINKS_OF_BIT, MethodConversion
from tonumpy.findings import RepairStyle
from tonumpy.repair.operations import AddLinks, Operation, force
from tonumpy.rules import concerns_named

CODE = "TNP107"
ON_BY_DEFAULT = True
_NAMED = r"conj|adjoint|\.m?H\b"
concerns = concerns_named(_NAMED)
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    if conversion.bit is None or conversion.site.is_forced:
        return None
    return f"`.numpy()` on a tensor with its {conversion.bit} bit set: {_outcome(conversion)}"


def _outcome(conversion: MethodConversion) -> str:
    """The outcome in words; an error in any case only if the bit is set on the CPU: a copy from a GPU clears it."""
    cpu = conversion.chain.cpu
    is_set_there = cpu is not None and any(re.search(_NAMED, link.words) for link in conversion.chain.after(cpu))
    if is_set_there or (conversion.on_cpu is True and conversion.is_brought_back is False):
        return "raises RuntimeError"
    if cpu is None:
        return "raises RuntimeError on the CPU, TypeError on a GPU"
    return f"raises RuntimeError, unless `{cpu.words}` copied it from a GPU and so cleared the bit"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:
    links = AddLinks(conversion.site.attribute, (LINKS_OF_BIT[conversion.bit or ""],))
    return force(conversion, style) or (links,)
