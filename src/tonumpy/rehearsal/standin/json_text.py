"""JSON that is written with a function that makes text of what JSON does not know -> the run is told of each tensor.

Exact, as that function is asked what it makes of a tensor: `json.dumps(record, default=str)`, an encoder of the user's
own, `orjson.dumps(record, default=repr)`.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.own_code import is_own
from tonumpy.sinks.taken.words import said

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

    _Tell = Callable[[Any, str], None]

_WRITTEN = "tensor("  # how the text of a tensor begins, that of a parameter too


def patch_json(library: str, tell: _Tell, patches: Patches) -> None:
    """Follow one of the libraries that write JSON, until `patches` are restored."""
    module: Any = sys.modules[library]
    if library != "json":
        for name in ("dump", "dumps"):
            if hasattr(module, name):
                patches.replace(module, name, _writing(getattr(module, name), library, tell))
        return
    # `json.dump` and `json.dumps` end here, with what they are given as `default`, and encoders of any class.
    iterencode = module.JSONEncoder.iterencode

    @functools.wraps(iterencode)
    def encoded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_called_by_own():
            return iterencode(self, *args, **kwargs)
        had = vars(self).get("default")
        self.default = _watched(self.default, library, tell)
        try:
            # What is given piece by piece is asked for later, and knows by then what it has to ask.
            return iterencode(self, *args, **kwargs)
        finally:
            if had is None:
                del self.default
            else:
                self.default = had

    patches.replace(module.JSONEncoder, "iterencode", encoded)


def _writing(write: Callable[..., Any], library: str, tell: _Tell) -> Callable[..., Any]:
    @functools.wraps(write)
    def written(*args: Any, **kwargs: Any) -> Any:
        if is_own(sys._getframe(1).f_code.co_filename):
            if callable(kwargs.get("default")):
                kwargs["default"] = _watched(kwargs["default"], library, tell)
            elif library == "orjson" and len(args) > 1 and callable(args[1]):
                args = (args[0], _watched(args[1], library, tell), *args[2:])
        return write(*args, **kwargs)

    return written


def _watched(default: Callable[[Any], Any], library: str, tell: _Tell) -> Callable[[Any], Any]:
    def made(value: Any) -> Any:
        result = default(value)
        if isinstance(value, torch.Tensor) and isinstance(result, str) and _WRITTEN in result:
            tell(value, f"`{library}` takes a tensor for values: {said('text', library, '')}")
        return result

    return made


def _is_called_by_own() -> bool:
    """Whether the user's code writes, through functions of json alone: libraries write such, too."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "json":
        frame = frame.f_back
    return is_own(frame.f_code.co_filename)
