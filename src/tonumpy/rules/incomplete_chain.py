"""# `.numpy()` without both `.detach()` and `.cpu()` (TNP300)

## What it does

Reports every conversion of a torch tensor that does not call both `.detach()` and `.cpu()`, also where the code as it
stands is proved safe. Off by default; `strict = true`, `--strict` or selecting the code turns it on.

Nothing slips through it: what TNP101, TNP102 or TNP103 reports is left to them, and where they are not selected, or are
less sure than `--confidence` asks for, it is reported here, whatever the confidence. So is an argument that NumPy or
another library converts (TNP104), where it is known to be in trouble.

## Why is this bad

Where it is proved safe it is not, today. "Always call both, it costs nothing" is a house rule that many teams keep,
because code moves: the `torch.no_grad()` above a conversion is lifted, the tensor made on the CPU gets a `device=`, and
a conversion that was right starts to raise far from the change.

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

As for TNP101: safe where the receiver is proved, or by its own words is, a torch tensor; unsafe otherwise. Of an
argument as for TNP104.
"""

from __future__ import annotations

from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.inference.completeness import has_complete_chain
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.phrases import subject
from tonumpy.repair.operations import complete_chain, convert_arguments

if TYPE_CHECKING:
    from tonumpy.findings import Confidence, Style
    from tonumpy.inference.completeness import Complete
    from tonumpy.repair.operations import Operation
    from tonumpy.text.candidates import Candidate

CODE = "TNP300"
ON_BY_DEFAULT = False
JUDGES = ("receivers", "arguments")
STANDS_IN_FOR = ("TNP101", "TNP102", "TNP103", "TNP104")


def concerns(complete: Complete) -> list[Candidate]:
    return [candidate for candidate in complete.candidates if not has_complete_chain(candidate)]


def check(conversion: Conversion | ImplicitConversion) -> str | None:
    chain = conversion.chain
    missing = [name for name, link in ((".detach()", chain.detach), (".cpu()", chain.cpu)) if not link]
    links = " and ".join(f"`{name}`" for name in missing)
    wanted = "both" if len(missing) > 1 else "it"
    if isinstance(conversion, ImplicitConversion):
        is_known = conversion.certainty == "tensor" or conversion.confidence != "low"
        if not links or not conversion.trouble or not is_known:
            return None
        return f"`{conversion.function}` converts a tensor without {links}: strict mode requires {wanted}"
    if conversion.is_complete:
        return None
    return f"`.numpy()` without {links} on {subject(conversion)}: strict mode requires {wanted}"


def confidence(conversion: Conversion | ImplicitConversion) -> Confidence:
    return conversion.confidence_of_kind if isinstance(conversion, Conversion) else conversion.confidence


def repair(conversion: Conversion | ImplicitConversion, style: Style) -> tuple[Operation, ...]:
    if isinstance(conversion, ImplicitConversion):
        return convert_arguments(conversion, style)
    return complete_chain(conversion, style)
