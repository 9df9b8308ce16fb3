"""# What is computed by a formula learns nothing (formula-function)

## What it believes

`stft`, `spectrogram`, `scaler.inverse_transform` and their like, out of sight, make of tensors what arithmetic with
numbers would: where these are, and with grad only if one of these has.

## Why

They compute with windows, filter banks and scales that nobody learns.

## Example

```python
import torch
from audio import spectrogram

DEVICES = ("cpu", "cuda")


def show(n: int):
    return spectrogram(torch.zeros(n)).numpy()
```
"""

from __future__ import annotations

EFFECT = "silence"
APPLIES_TO = ("call result",)

_FUNCTIONS = frozenset(
    "stft istft spectrogram mel_spectrogram melspectrogram log_mel_spectrogram inverse_transform".split()
)
_OWNERS = frozenset("scaler normaliser normalizer".split())


def is_meant(name: str, owner: str) -> bool:
    return name in _FUNCTIONS or owner.rpartition("_")[2] in _OWNERS
