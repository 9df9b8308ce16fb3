"""# `stft` and the like compute a formula without parameters (formula-function)

## What it believes

`stft`, `spectrogram`, `scaler.inverse_transform` and the like, if their definition is not visible, treat tensors as
arithmetic with numbers does: the result is on the same device and requires grad only if an argument does.

## Why

They compute with windows, filter banks and scales that nobody trains.

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
