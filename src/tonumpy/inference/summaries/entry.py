"""The entry of a function: the values of its parameters and the state of torch in which its body is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.values.evidence import PROVED

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import AllEvidence
    from tonumpy.engine.values.values import Value
    from tonumpy.facts import Fact


class Entry(NamedTuple):
    """The value of each parameter, and grad mode at entry.

    `evidence` supports that grad mode is off; `left_out` tells which callers were not followed.
    """

    arguments: dict[str, Value]
    grad_mode: Fact
    evidence: AllEvidence = PROVED
    left_out: AllEvidence = PROVED


OUT_OF_SIGHT = Entry({}, None)
