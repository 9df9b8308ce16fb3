"""# What the repository registers as a buffer requires no grad (registered-buffer)

## What it believes

An attribute of an unknown object does not require grad if the repository registers a buffer of that name, and no
parameter of that name. Not if a tensor or a distribution of torch has something of that name (`dist.mean`).

## Why

A buffer is what a module keeps and does not train. Two modules of one repository seldom mean different things by one
name.

## Example

```python
import torch


class Model(torch.nn.Module):
    def __init__(self, means):
        super().__init__()
        self.register_buffer("prior_means", torch.from_numpy(means))


def means_of(model):
    return model.prior_means.cpu().numpy()
```
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module

EFFECT = "silence"
APPLIES_TO = ("attribute",)

# What distributions of torch have beside what tensors have.
_OF_DISTRIBUTIONS = frozenset("concentration df loc logits mode probs rate scale stddev temperature variance".split())
_REGISTERED = r"\bregister_buffer\(\s*(?:name\s*=\s*)?[\"']%s[\"']"
_TRAINED = (
    r"\bregister_parameter\(\s*(?:name\s*=\s*)?[\"']%s[\"']"
    r"|\.%s[ \t]*(?::[^=\n]{0,99})?=[ \t\n(]*(?:[\w.]{0,99}\.)?Parameter\("
)


def is_meant(name: str, module: Module) -> bool:
    """Whether the module, or its repository, registers a buffer of this name and no parameter."""
    if name in _OF_DISTRIBUTIONS or torch_api.is_of_tensors(name):
        return False
    return _stands(name, module, _REGISTERED) and not _stands(name, module, _TRAINED)


def _stands(name: str, module: Module, pattern: str) -> bool:
    if re.search(pattern.replace("%s", re.escape(name)), module.source.text) is not None:
        return True
    repository = module.project.repositories.around(module.folder)
    return repository is not None and repository.names_beside(os.path.abspath(module.filename), name, pattern)
