"""# What would raise for its grad in a cell that ran has raised (cell-that-ran)

## What it believes

In a cell of a notebook that keeps what its run gave, and that is no error, nothing requires grad where that would
raise: in what the cell does whatever its conditions are, and in the functions that are called nowhere else. Where the
code shows that it is made of parameters, the cell has been changed since.

## Why

Whether something requires grad does not depend on the machine, and what it is converted for stands below the cell. On
which device it was does depend on it: of that, a run on another machine shows nothing.

## Example

```python
import torch  # this is the cell of a notebook that has run
from curves import points

points(3).cpu().numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)
