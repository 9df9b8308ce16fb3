"""Which operations `torch.autocast` to bfloat16 gives another dtype: torch_autocast.json, measured on real devices."""

from __future__ import annotations

from functools import cache

from tonumpy.inference.knowledge.tables import table
from tonumpy.lazy_typing import NamedTuple


class Autocast(NamedTuple):
    """The last names of operators, methods and layers of torch.nn; operators are `matmul`, `div`, `__rdiv__`.

    narrowed  their results are bfloat16, whatever floating point dtype below float64 their operands have
    changed   others whose results can have another dtype than without autocast
    """

    narrowed: frozenset[str]
    changed: frozenset[str]


@cache
def autocast(on_cpu: bool | None) -> Autocast:
    """That of the CPU, of accelerators (what CUDA does), or what is common to both."""
    if on_cpu is None:
        here, there = autocast(True), autocast(False)
        narrowed = here.narrowed & there.narrowed
        return Autocast(narrowed, (here.changed | there.changed | here.narrowed | there.narrowed) - narrowed)
    facts = table("torch_autocast")["cpu" if on_cpu else "cuda"]
    return Autocast(frozenset(facts["narrowed"]), frozenset(facts["changed"]))
