"""# Tensors of two devices in one operator (TNP109)

## What it does

Reports an operator or function of torch that was given tensors of two devices, where a [rehearsal](../rehearsal.md)
has seen that. The message names both tensors, with the lines where they were made or moved. `tonumpy check` does not
look for it.

A tensor without dimensions may come from the CPU, and an index of a tensor on the accelerator may lie there, too.

## Why is this bad

With an accelerator it raises `RuntimeError: Expected all tensors to be on the same device`. On a machine without one
both are on the CPU, so no test fails there.

## Example

```python
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(3, 1).to(device)
target = torch.zeros(8, 1)
loss = nn.functional.mse_loss(net(torch.ones(8, 3, device=device)), target)
```

## Use instead

```python
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(3, 1).to(device)
target = torch.zeros(8, 1, device=device)
loss = nn.functional.mse_loss(net(torch.ones(8, 3, device=device)), target)
```

## Fix safety

There is no fix: only you know which of the two belongs elsewhere.
"""

CODE = "TNP109"
ON_BY_DEFAULT = True
JUDGES = ("runs",)
