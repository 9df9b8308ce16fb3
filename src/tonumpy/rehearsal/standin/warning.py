"""A text -> a warning that never ends the program, not even where warnings are errors."""

from __future__ import annotations

import sys
import warnings

_MOST = 300

__all__ = ["warn"]


def warn(text: str) -> None:
    """Warn of something that the stand-in does not do as hardware does."""
    text = (text.splitlines() or [""])[0][:_MOST]  # torch's own words of an operator that is missing go on for pages
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"tonumpy: {text}", file=sys.stderr)
