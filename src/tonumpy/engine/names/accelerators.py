"""From a module to the kinds of accelerators it names, and whether a test for some of them tells the CPU from all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tonumpy.text.uncommented import uncommented

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.engine.names.module import Module

_CUDA = "cuda"
_OTHERS = r"(?<![a-z])(?:xpu|npu|hpu|mps|mlu|musa)\b"  # of a text in small letters
_NONE: frozenset[str] = frozenset()


def tells_cpu_from_all(module: Module, test: Callable[[], str]) -> bool:
    """True if the CPU is in use wherever the test fails; a test for CUDA alone does not say so in a module that may use
    xpu."""
    named = module.derived_of(_named, "")
    asked = _kinds_in(test().lower()) if named else _NONE
    return not asked or named <= asked


def _named(module: Module, _: str) -> frozenset[str]:
    """None where it names no other than CUDA."""
    text = module.source.text.lower()
    if re.search(_OTHERS, text) is None:
        return _NONE
    found = _kinds_in(uncommented(module.source.text).lower())
    return found if found - {_CUDA} else _NONE


def _kinds_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(rf"{_CUDA}|{_OTHERS}", text))
