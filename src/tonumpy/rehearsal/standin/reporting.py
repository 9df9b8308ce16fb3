"""Makes events for all parts: the stack and what happens to a tensor, the text of files, warnings.

A warning that is given in a file of ours is moved to where torch would have given it, the code that called us: torch
warns in its C++, in the innermost frame of Python, which is a wrapper of the stand-in here.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.events import Call, Event
from tonumpy.rehearsal.frames import place_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from tonumpy.rehearsal.events import Observer, Way
    from tonumpy.rehearsal.standin.patches import Patches

_OWN = os.path.join(Path(__file__).parents[2], "")


class Reports:
    """Makes events of what happens to tensors, for the observer of a run.

    It keeps the calls that it has made for stacks: most conversions are made again and again."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        # By the identity of the code, as it is equal to the same code of another file; it lives as long as its entry.
        self._calls: dict[tuple[int, int], tuple[CodeType, Call | None]] = {}

    def stack(self, frame: FrameType | None = None) -> tuple[Call, ...]:
        """The stack of a frame or else of the caller, innermost call first."""
        found = []
        frame = frame or sys._getframe(1)
        calls = self._calls
        while frame is not None:
            code = frame.f_code
            key = (id(code), frame.f_lasti)
            if key not in calls:
                calls[key] = code, _call(frame)
            call = calls[key][1]
            if call is not None:
                found.append(call)
            frame = frame.f_back
        return tuple(found)

    def event(self, tensor: Any, way: Way, frame: FrameType | None = None) -> Event:
        """What happens to this tensor now, or at a frame, and is not refused."""
        return Event(
            way,
            (),
            str(tensor.device),
            tensor.requires_grad,
            torch.is_grad_enabled(),
            str(tensor.dtype),
            str(tensor.layout),
            tuple(tensor.shape),
            self.stack(frame),
        )

    def tell(self, way: Way, tensor: Any, words: str, frame: FrameType | None = None) -> None:
        """Tell of what is wrong without an error, in words."""
        with guarded(f"{way} is not told of"):
            self.observer(self.event(tensor, way, frame)._replace(about=words), tensor)


def _call(frame: FrameType) -> Call | None:
    code = frame.f_code
    if code.co_filename.startswith(_OWN):
        return None
    row, end_row, column, end_column = place_of(frame)
    return Call(code.co_filename, row, code.co_name, end_row, column, end_column)


class guarded:  # noqa: N801 -- as those of contextlib
    """Context manager in which an error of ours is a warning that says what is lost, and ends nothing."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        if not isinstance(problem, Exception):
            return False
        warn(f"{self._what} ({type(problem).__name__}: {problem})")
        return True


_MOST = 300

__all__ = ["warn"]


def warn(text: str) -> None:
    """Warn of something that the stand-in does not do as hardware does."""
    text = (text.splitlines() or [""])[0][:_MOST]  # torch's own words of an operator that is missing go on for pages
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"tonumpy: {text}", file=sys.stderr)


def patch(patches: Patches) -> None:
    """Let warnings stand in their places until `patches` are restored."""
    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def placed(message: Any) -> None:
        if message.filename.startswith(_OWN):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith(_OWN):
                frame = frame.f_back
            if frame is not None:
                message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        show(message)

    patches.replace(warnings, "_showwarnmsg", placed)
