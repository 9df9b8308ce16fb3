"""# `.numpy()` without both `.detach()` and `.cpu()` (TNP300)

## What it does

Reports every conversion of a torch tensor that does not call both `.detach()` and `.cpu()`, also where the code as it
stands is proved safe. Off by default; `strict = true`, `--strict` or selecting the code turns it on.

## Why is this bad

It is not, today. "Always call both, it costs nothing" is a house rule that many teams keep, because code moves: the
`torch.no_grad()` above a conversion is lifted, the tensor made on the CPU gets a `device=`, and a conversion that was
right starts to raise far from the change.

## Example

```python
import torch

with torch.no_grad():
    array = torch.zeros(3).cpu().numpy()
```

## Use instead

```python
import torch

with torch.no_grad():
    array = torch.zeros(3).detach().cpu().numpy()
```

## Fix safety

Safe: only conversions of proved tensors, or of expressions that by their own words are torch tensors, are reported.
"""

from __future__ import annotations

from operator import attrgetter

from tonumpy.inference.completeness import has_complete_chain
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.repair.operations import complete_chain

if TYPE_CHECKING:
    from tonumpy.conversions import Conversion
    from tonumpy.inference.completeness import Complete
    from tonumpy.text.candidates import Candidate

CODE = "TNP300"
ON_BY_DEFAULT = False
confidence = attrgetter("confidence_of_kind")
repair = complete_chain


def concerns(complete: Complete) -> list[Candidate]:
    return [candidate for candidate in complete.candidates if not has_complete_chain(candidate)]


def check(conversion: Conversion) -> str | None:
    if conversion.is_complete or conversion.certainty == "possible":
        return None
    if not (conversion.grad_is_proved and conversion.device_is_proved):
        return None  # TNP101, TNP102 or TNP103 speaks of it
    missing = [
        name for name, link in ((".detach()", conversion.chain.detach), (".cpu()", conversion.chain.cpu)) if not link
    ]
    links = " and ".join(f"`{name}`" for name in missing)
    return f"`.numpy()` without {links} on {conversion.subject}, which strict asks for"
