"""Moves a warning that is given in a file of ours to where torch would have given it: the code that called us.

Torch warns in its C++, in the innermost frame of Python, which is a wrapper of the stand-in here.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

    from tonumpy.rehearsal.standin.patches import Patches

_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")


def patch(patches: Patches) -> None:
    """Let warnings stand in their places until `patches` are restored. An error that a filter makes of one passes."""
    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def placed(message: Any) -> None:
        frame = _outside() if message.filename.startswith(_OURS) else None
        if frame is None:
            show(message)
            return
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(
            message.message,
            message.category,
            frame.f_code.co_filename,
            frame.f_lineno,
            module=frame.f_globals.get("__name__"),
            registry=registry,
            source=message.source,
        )

    patches.replace(warnings, "_showwarnmsg", placed)
    for name, module in list(sys.modules.items()):
        if name.startswith("tonumpy.rehearsal"):  # else Python takes two lines of the program for one place
            patches.replace(module, "__warningregistry__", None)


def _outside() -> FrameType | None:
    """The innermost frame that is not ours. A thread of autograd has none, and the main thread waits for it."""
    frame = _beyond(sys._getframe(1))
    return frame or _beyond(sys._current_frames().get(threading.main_thread().ident or 0))


def _beyond(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame
