"""How a function is entered: what the parts of an analysis hand over about it."""

from __future__ import annotations

from tonumpy.inference.lattice.evidence import PROVED
from tonumpy.inference.lattice.values import NOTHING, Value
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.lattice.evidence import AllEvidence


class Entry(NamedTuple):
    """What a function is given, by parameter, and in which state of torch it is entered.

    `evidence` is what it rests on that grad mode is off, `left_out` which callers were not followed. `by_key` is what
    it is given by one call or several, each with the texts of its own: `history.add("loss", loss)`.
    """

    arguments: dict[str, Value]
    grad_mode: Fact
    autocast: Value = NOTHING
    evidence: AllEvidence = PROVED
    left_out: AllEvidence = PROVED
    by_key: tuple[dict[str, Value], ...] = ()


OUT_OF_SIGHT = Entry({}, None)
