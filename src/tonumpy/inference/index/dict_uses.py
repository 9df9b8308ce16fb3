"""From a variable to whether it is a dict or like one, by the uses in its function, whatever its annotation says."""

from __future__ import annotations

from tonumpy.inference.index.name_uses import Doing
from tonumpy.inference.knowledge.methods import OF_DICTS_ALONE
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.def_use import DefUse


def has_keys(flow: DefUse, name: str) -> bool:
    """True for a variable with one definition and a use that only a dict supports, in code without a test of its
    kind."""
    if flow.times_bound.get(name) != 1:
        return False
    done = flow.name_uses.of(name)
    return not any(doing is Doing.ASKS_KIND for doing, _ in done) and any(
        doing is Doing.TAKES_KEY or (doing is Doing.CALLS_METHOD and method in OF_DICTS_ALONE) for doing, method in done
    )
