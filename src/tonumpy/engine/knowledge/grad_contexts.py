"""torch's grad contexts: from the name of a context manager or decorator to grad mode in its block.

A new context of torch's is a row here and nothing else. By their own names, for a module may import torch in ways that
are not followed, or wrap them: nobody calls so what does something else.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Context(NamedTuple):
    """`mode`: in its block, "unknown" if a flag says it; `where_true`: the mode if its flag is given and True.

    `decorates`: it is used as a decorator, and leaves what the function takes and gives. `sets`: called as a statement,
    it holds from there on.
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

# What asks for grad mode.
ASKS_FOR_GRAD_MODE = frozenset(("is_grad_enabled", "is_inference_mode_enabled"))


def may_turn_grad_on(text: str) -> bool:
    """True if a text names a context that sets grad mode to on, or that a flag may tell to."""
    if "grad_enabled" in text or any(name in text for name, mode in GRAD_CONTEXTS.items() if mode != "off"):
        return True
    return any(f"{name}(" in text and re.search(rf"{name}\([^)]", text) for name in TOLD_BY_FLAG)
