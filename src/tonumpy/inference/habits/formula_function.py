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

from tonumpy.inference.knowledge.operands import result_facts
from tonumpy.inference.lattice.values import Tensor, Unknown, Value, believed
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.habits import Call
    from tonumpy.inference.lattice.evidence import Where

EFFECT = "silence"
APPLIES_TO = ("call result",)

_FUNCTIONS = frozenset(
    "stft istft spectrogram mel_spectrogram melspectrogram log_mel_spectrogram inverse_transform".split()
)
_OWNERS = frozenset("scaler normaliser normalizer".split())


def of_call(result: Value, call: Call, where: Where) -> Value:
    """What arithmetic with numbers makes of tensors."""
    if call.name not in _FUNCTIONS and call.owner.rpartition("_")[2] not in _OWNERS:
        return result
    given = () if call.arguments.has_star else call.arguments.values()
    if not isinstance(result, Unknown) or not any(isinstance(value, (Tensor, Unknown)) for value in given):
        return result
    basis = where.habit("formula-function", f"`{call.name}` is named for a formula")
    on_cpu, requires_grad = result_facts(given, True)
    return believed(result, basis, on_cpu=on_cpu or None, requires_grad=False if requires_grad is False else None)
