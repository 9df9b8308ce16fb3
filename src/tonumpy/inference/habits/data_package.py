"""# What a package of data works on is on the CPU, without grad (data-package)

## What it believes

In a package called `data`, `datasets` or `dataloaders`, and in a module called so, nothing requires grad and nothing is
on an accelerator that nothing says to be: not so what has been moved, what a model has made, or a script. Of where a
tensor is that a public class or function works on, `tensor: torch.Tensor`, nothing is believed: its user may have put
it anywhere.

## Why

What loads, changes and collates samples is run by the workers of a `DataLoader`, which cannot use an accelerator that
their parent uses, and before there is a model.

## Example

```python
import torch  # its module is called crops_dataset.py


class Crops:
    def add(self, image):
        self.images.append(image[:32, :32].numpy())
```
"""

from __future__ import annotations

import re

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EFFECT = "silence"
APPLIES_TO = ("parameter", "attribute", "call result")

_NAMES = r"^data$|^(\w+_)?(datasets?|data_?(loaders?|loading|modules?|managers?|pipes?))$"


def is_meant(names: Iterable[str]) -> bool:
    """Of the name of a module and those of the packages around it."""
    return any(re.search(_NAMES, name.lower()) for name in names)
