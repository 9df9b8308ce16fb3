"""# `.data` before `.numpy()` (TNP303)

## What it does

Reports a conversion that detaches the tensor with `.data`. Off by default.

## Why is this bad

For the conversion alone both are the same. They differ for everything else: after `h = w.sigmoid(); h.data.zero_()`,
`h.sum().backward()` silently gives wrong gradients; after `h.detach().zero_()` it raises `RuntimeError: one of the
variables needed for gradient computation has been modified by an inplace operation`. A team that writes `.detach()`
everywhere has one thing less to check.

## Example

```python
import torch


def weights(model: torch.nn.Linear):
    return model.weight.data.cpu().numpy()
```

## Use instead

```python
import torch


def weights(model: torch.nn.Linear):
    return model.weight.detach().cpu().numpy()
```

## Fix safety

Safe: reported only where the object before `.data` is proved to be a tensor.
"""

import ast
from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.engine.knowledge.chains import Role
from tonumpy.findings import RepairStyle
from tonumpy.repair.operations import DataToDetach, Operation

CODE = "TNP303"
ON_BY_DEFAULT = False
concerns = attrgetter("candidates")
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    detach = conversion.chain.detach
    if detach is None or detach.role is not Role.DATA or not conversion.data_of_tensor:
        return None
    return "`.data` before `.numpy()` bypasses autograd's checks; use `.detach()`"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    detach = conversion.chain.detach
    assert detach is not None
    assert isinstance(detach.node, ast.Attribute)
    return (DataToDetach(detach.node),)
