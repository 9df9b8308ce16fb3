"""A candidate and what inference knows of its receiver, together: the value that the rules judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from tonumpy.candidates import Candidate
    from tonumpy.chains import Chain

Certainty = Literal["tensor", "likely", "possible"]

# A fact is known to hold, known not to hold, or unknown (None). Unknown is never promoted to either.
Fact = bool | None


class Conversion(NamedTuple):
    """A conversion of what is, or may be, a torch tensor.

    `on_cpu` and `requires_grad` speak of the receiver as the call finds it; `grad_mode` of the moment of the call.
    `dtype`, `layout` and `bit` are those of `Tensor` in inference/values.py, known only where they are proved.
    `data_of_tensor` says whether what the chain's `.data` is read from is a tensor itself: a batch, a dataset or a
    PackedSequence has a tensor under that name and no `.detach()`.
    """

    candidate: Candidate
    chain: Chain
    certainty: Certainty
    on_cpu: Fact
    requires_grad: Fact
    grad_mode: Fact
    data_of_tensor: Fact = None
    dtype: str | None = None
    layout: str | None = None
    bit: str | None = None

    @property
    def grad_is_proved(self) -> bool:
        """`.numpy()` raises for grad only where grad mode is on and the tensor requires grad."""
        return self.chain.detach is not None or self.requires_grad is False or self.grad_mode is False

    @property
    def device_is_proved(self) -> bool:
        return self.chain.cpu is not None or self.on_cpu is True

    @property
    def is_complete(self) -> bool:
        """Whether the chain itself detaches and brings the tensor to the CPU, or `force=True` does."""
        return self.candidate.is_forced or (self.chain.detach is not None and self.chain.cpu is not None)

    @property
    def subject(self) -> str:
        return {"tensor": "a tensor", "likely": "what reads as a tensor", "possible": "what may be a tensor"}[
            self.certainty
        ]

    @property
    def unproved(self) -> str:
        """What is not proved, in words: "may require grad and may be on an accelerator"."""
        grad = "requires grad" if self.requires_grad else "may require grad"
        device = "is on an accelerator" if self.on_cpu is False else "may be on an accelerator"
        doubts = [text for text, proved in ((grad, self.grad_is_proved), (device, self.device_is_proved)) if not proved]
        return " and ".join(doubts)
