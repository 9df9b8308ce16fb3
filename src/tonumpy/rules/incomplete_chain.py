"""# Strict: conversion without both `.detach()` and `.cpu()` (TNP300)

## What it does

Reports every conversion of a tensor that does not call both `.detach()` and `.cpu()`, even where the code is proved
safe today. Off by default; `strict = true`, `--strict` or selecting the code turns it on.

It covers everything: what TNP101, TNP102 or TNP103 reports is left to them; where they are not selected, or are less
sure than `--confidence` asks for, TNP300 reports it, whatever the confidence. The same holds for arguments that NumPy
or another library converts (TNP104), where the code shows that they fail.

## Why is this bad

Where the code is proved safe, nothing is wrong today. But code moves: somebody removes the `torch.no_grad()` above the
conversion, or gives the CPU tensor a `device=`, and the conversion raises far from that change. "Always call both, it
costs nothing" is a house rule of many teams.

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

As for TNP101: safe where the value is proved or likely to be a torch tensor, unsafe otherwise. For arguments as for
TNP104. There is no fix where the code catches the error and converts in another way.
"""

from tonumpy.conversions import ArgumentConversion, MethodConversion
from tonumpy.detectors.completeness import Complete, has_complete_chain
from tonumpy.findings import Confidence, RepairStyle
from tonumpy.phrases import subject
from tonumpy.repair.operations import Operation, complete_chain, convert_arguments
from tonumpy.text.candidates import Candidate

CODE = "TNP300"
ON_BY_DEFAULT = False
JUDGES = ("receivers", "arguments")
STANDS_IN_FOR = ("TNP101", "TNP102", "TNP103", "TNP104")


def concerns(complete: Complete) -> list[Candidate]:
    return [candidate for candidate in complete.candidates if not has_complete_chain(candidate)]


def check(conversion: MethodConversion | ArgumentConversion) -> str | None:
    links, wanted = _missing(conversion)
    if isinstance(conversion, ArgumentConversion):
        is_known = conversion.certainty == "tensor" or conversion.confidence != "low"
        if not links or not conversion.risks or not is_known:
            return None
        return f"`{conversion.function}` converts a tensor without {links}: strict mode requires {wanted}"
    if conversion.is_complete:
        return None
    return f"`.numpy()` without {links} on {subject(conversion)}: strict mode requires {wanted}"


def brief(conversion: MethodConversion | ArgumentConversion) -> str:
    links, wanted = _missing(conversion)
    what = "`.numpy()`" if isinstance(conversion, MethodConversion) else f"`{conversion.function}` of a tensor"
    return f"{what} without {links}: strict mode requires {wanted}"


def _missing(conversion: MethodConversion | ArgumentConversion) -> tuple[str, str]:
    """The missing links in words, and the pronoun for them, "both" or "it"."""
    chain = conversion.chain
    missing = [name for name, link in ((".detach()", chain.detach), (".cpu()", chain.cpu)) if not link]
    return " and ".join(f"`{name}`" for name in missing), "both" if len(missing) > 1 else "it"


def confidence(conversion: MethodConversion | ArgumentConversion) -> Confidence:
    return conversion.confidence_of_kind if isinstance(conversion, MethodConversion) else conversion.confidence


def repair(conversion: MethodConversion | ArgumentConversion, style: RepairStyle) -> tuple[Operation, ...]:
    """The links to add; none if a handler of the error converts in another way, with perhaps another result."""
    if isinstance(conversion, MethodConversion) and conversion.errors_made_good:
        return ()
    if isinstance(conversion, ArgumentConversion):
        return convert_arguments(conversion, style)
    return complete_chain(conversion, style)
