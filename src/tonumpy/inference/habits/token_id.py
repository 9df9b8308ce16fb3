"""# A pad_token_id is a number (token-id)

## What it believes

`tokenizer.pad_token_id`, `config.eos_token_id` are numbers, however they come about.

## Why

So transformers has it.

## Example

```python
import torch


class Model:
    def __init__(self, config):
        self.pad_token_id = config.pad_token_id

    def mask(self, n: int):
        return (torch.arange(n) * self.pad_token_id).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("attribute",)


def is_meant(attribute: str) -> bool:
    return attribute.endswith("_token_id")
