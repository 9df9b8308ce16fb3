"""# A notebook cell that has run did not raise (cell-that-ran)

## What it believes

In a notebook cell that keeps the output of a run without an error, nothing requires grad where that would raise: in
statements that always run, and in functions that are called nowhere else. If the code shows that a value is computed
from parameters, the cell has changed since, and the habit does not apply.

## Why

Whether a tensor requires grad does not depend on the machine, and the result stands below the cell. The device does
depend on it: a run on another machine shows nothing about it.

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
