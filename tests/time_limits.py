"""Time limits of tests: they end what hangs, and leave a busy machine its time."""

from __future__ import annotations

import os

PATIENCE = 600.0  # seconds


def under_load(seconds: float) -> float:
    """What takes so long at most on an idle machine, on this one."""
    load = max(os.getloadavg()) if hasattr(os, "getloadavg") else 10.0
    return seconds * (1 + load)
