"""# A setting is a number, string or flag (settings-object)

## What it believes

`cfg.scale`, `self.config["eps"]`, `args.sigma`: a value taken out of an object with such a name is no tensor when it is
passed to a torch function, if nothing else is known about it.

## Why

Runs are configured with numbers, strings and flags.

## Example

```python
import torch


def scaled(cfg):
    with torch.no_grad():
        return (torch.tensor(3.0) * cfg.scale).numpy()
```
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

EFFECT = "silence"
APPLIES_TO = ("attribute", "key")

if TYPE_CHECKING:
    from collections.abc import Iterable
_WORDS = frozenset("cfg config args opt opts hparams hps settings".split())


def is_id_of_token(attribute: str) -> bool:
    """`tokenizer.pad_token_id`, `config.eos_token_id`, as transformers has it, however it comes about."""
    return attribute.endswith("_token_id")


def is_meant(holders: Iterable[str]) -> bool:
    """Whether one of the objects that something is taken out of, by its name, is a configuration."""
    return any(name.rpartition("_")[2] in _WORDS for name in holders)
