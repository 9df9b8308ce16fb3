"""# `generate(max_new_tokens=...)` runs without grad (generation-keywords)

## What it believes

A method `generate` called with generation keywords of transformers returns nothing that requires grad.

## Why

transformers' models generate with grad mode off.

## Example

```python
import torch


def tokens(model, prompt):
    return model.generate(prompt, max_new_tokens=20).cpu().numpy()
```
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

EFFECT = "silence"
APPLIES_TO = ("call result",)

if TYPE_CHECKING:
    from collections.abc import Iterable
_KEYWORDS = frozenset(
    "max_new_tokens min_new_tokens num_beams do_sample top_k top_p num_return_sequences repetition_penalty"
    " length_penalty no_repeat_ngram_size early_stopping generation_config logits_processor stopping_criteria"
    " eos_token_id pad_token_id".split()
)


def is_meant(method: str, keywords: Iterable[str]) -> bool:
    return method == "generate" and not _KEYWORDS.isdisjoint(keywords)
