"""# `.numpy()` on a layout that NumPy lacks (TNP106)

## What it does

Reports a conversion of a tensor that is proved to be sparse (COO, CSR, CSC, BSR or BSC) or in oneDNN layout (`mkldnn`).

## Why is this bad

It always raises: `TypeError: can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.` Neither
`.cpu()` nor `force=True` helps.

## Example

```python
import torch


def adjacency(indices: torch.Tensor, values: torch.Tensor):
    return torch.sparse_coo_tensor(indices, values).detach().cpu().numpy()
```

## Use instead

```python
import torch


def adjacency(indices: torch.Tensor, values: torch.Tensor):
    return torch.sparse_coo_tensor(indices, values).detach().cpu().to_dense().numpy()
```

`.to_dense()` goes after `.cpu()`: only the nonzero values leave the GPU, and the dense copy needs no GPU memory. For a
tensor too large to be dense, pass `.indices()` and `.values()` to `scipy.sparse.coo_array`.

## Fix safety

Safe: the conversion raised before.
"""

from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.findings import RepairStyle
from tonumpy.repair.operations import AddLinks, Operation
from tonumpy.rules import concerns_named

CODE = "TNP106"
ON_BY_DEFAULT = True
concerns = concerns_named("sparse|mkldnn")
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    if conversion.layout is None:
        return None
    return f"`.numpy()` on a tensor in {conversion.layout} layout, which NumPy lacks: always raises TypeError"


def repair(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:  # noqa: ARG001
    return (AddLinks(conversion.site.attribute, ("to_dense",)),)
