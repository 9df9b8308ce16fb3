"""Which risks a source speaks of at all: where none of a kind is spelt, no run need look for it.

A risk stands in the text: a Parameter, what a module gives, `.cuda()`, `.to(device)`, `device=`, `bfloat16`. Whether it
reaches a place is what the run tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.text.prefilter import LACKED_BY_NUMPY

if TYPE_CHECKING:
    from tonumpy.text.source import Source

# What of a tensor NumPy refuses; `TENSOR`: that it is one; `ARRAY`: what NumPy makes, where the two must not meet.
GRAD, PLACE, FORM, TENSOR, ARRAY = 1, 2, 4, 8, 16
_WORDS = {
    GRAD: ("requires_grad", "Parameter", "backward", "model", "net", "nn.", ".weight", ".bias", "LightningModule"),
    PLACE: ("cuda", "device", ".to(", ".xpu", ".npu"),
    FORM: tuple(word.strip(".(") for word in LACKED_BY_NUMPY),
    TENSOR: ("torch",),
    ARRAY: ("numpy", "np."),
}


def kinds_spelt(source: Source) -> int:
    """The kinds of risks of which a word stands in the text."""
    return sum(kind for kind, words in _WORDS.items() if any(map(source.text.__contains__, words)))
