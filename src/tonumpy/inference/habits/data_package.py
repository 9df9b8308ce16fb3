"""# A data package has CPU tensors without grad (data-package)

## What it believes

In a package or module called `data`, `datasets` or `dataloaders`, nothing requires grad or is on a GPU unless the code
shows it: by moving it, by computing it with a model, or because the file is a script. Nothing is assumed about the
device of tensors that are passed to its public classes and functions (`tensor: torch.Tensor`): users may have put them
anywhere.

## Why

Code that loads, changes and collates samples runs in the workers of a `DataLoader`, which cannot use a GPU that their
parent uses, and before there is a model.

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EFFECT = "silence"
APPLIES_TO = ("parameter", "attribute", "call result")

_NAMES = r"^data$|^(\w+_)?(datasets?|data_?(loaders?|loading|modules?|managers?|pipes?))$"


def is_meant(names: Iterable[str]) -> bool:
    """Of the name of a module and those of the packages around it."""
    return any(re.search(_NAMES, name.lower()) for name in names)
