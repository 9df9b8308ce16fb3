"""torch's grad contexts: the grad mode that a context manager or decorator sets, by its name.

A new context of torch's is a row here and nothing else. Contexts are matched by their short names, as a module may wrap
them or import torch in ways that are not followed; no other function has such a name.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Context(NamedTuple):
    """`mode`: the mode in its block, "unknown" if a flag decides; `where_true`: the mode if its flag is given and True.
    `decorates`: it is also a decorator, which keeps the function's signature. `sets`: called as a statement, it sets
    the mode from there on.
    """

    mode: str
    where_true: str | None = None
    decorates: bool = False
    sets: bool = False


_CONTEXTS = {
    "no_grad": _Context("off", decorates=True),
    "inference_mode": _Context("off", where_true="off", decorates=True),
    "enable_grad": _Context("on", decorates=True),
    "set_grad_enabled": _Context("unknown", where_true="on", sets=True),
}

GRAD_CONTEXTS = {name: context.mode for name, context in _CONTEXTS.items()}
TOLD_BY_FLAG = {name: context.where_true for name, context in _CONTEXTS.items() if context.where_true is not None}
GRAD_DECORATORS = tuple(name for name, context in _CONTEXTS.items() if context.decorates)
GRAD_SETTERS = (*(name for name, context in _CONTEXTS.items() if context.sets), "_set_grad_enabled")  # torch._C's

# Functions that query grad mode.
ASKS_FOR_GRAD_MODE = frozenset(("is_grad_enabled", "is_inference_mode_enabled"))


def may_turn_grad_on(text: str) -> bool:
    """True if a text names a context that turns grad mode on, or may do so by a flag."""
    if "grad_enabled" in text or any(name in text for name, mode in GRAD_CONTEXTS.items() if mode != "off"):
        return True
    return any(f"{name}(" in text and re.search(rf"{name}\([^)]", text) for name in TOLD_BY_FLAG)
