"""# `.numpy()` called per element in a loop (TNP304)

## What it does

Reports a conversion in a loop or comprehension over a tensor: of the loop variable, or of an element that an index
taken from the loop selects. Off by default.

## Why is this bad

Each element becomes a tensor and then an array, some microseconds each; on a GPU the program waits for every copy. One
conversion before the loop does it all. On a thousand rows of 64 numbers `[row.numpy() for row in x]` takes 1.0 ms and
`list(x.numpy())` 0.06 ms; on a simulated GPU 3.3 ms and 0.1 ms.

## Example

```python
import torch


def rows(x: torch.Tensor):
    return [row.detach().cpu().numpy() for row in x]
```

## Use instead

```python
import torch


def rows(x: torch.Tensor):
    return [row for row in x.detach().cpu().numpy()]
```

## Fix safety

There is no fix: the rest of the loop may need tensors.
"""

import ast
from collections.abc import Iterator
from operator import attrgetter

from tonumpy.conversions import MethodConversion
from tonumpy.text.syntax import walk
from tonumpy.text.tree_paths import path_to

CODE = "TNP304"
ON_BY_DEFAULT = False
concerns = attrgetter("candidates")
confidence = attrgetter("confidence_of_kind")


def check(conversion: MethodConversion) -> str | None:
    if not conversion.is_item or conversion.certainty == "possible":
        return None
    used = {node.id for node in ast.walk(conversion.site.receiver) if isinstance(node, ast.Name)}
    if used.isdisjoint(_loop_variables(conversion)):
        return None
    return "`.numpy()` called per element in a loop; convert the whole tensor once, before the loop"


def _loop_variables(conversion: MethodConversion) -> Iterator[str]:
    """Yield the targets of the loops and comprehensions around a conversion, within its function."""
    site = conversion.site
    targets = list[ast.expr]()
    for node in path_to(site.scopes[-1], site.call):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            targets.append(node.target)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            targets += [generator.target for generator in node.generators]
    yield from (node.id for target in targets for node in walk(target) if isinstance(node, ast.Name))
