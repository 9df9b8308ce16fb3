"""`torch.jit`: it compiles as ever; what compiled code gives lies where its arguments or parameters lie.

Compiled code sees tensors of the CPU. Code that names the device, or asks for it, runs as plain Python instead.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.marks import mark_of, on, put_all, tensors_in
from tonumpy.rehearsal.standin.state import CPU, HOST, STATE
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_OF_TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # it compiles functions of its own
_ASK_FOR_THE_DEVICE = ("prim::is_cuda", "prim::is_mps", "prim::is_xpu", "prim::type", "aten::str")


def patch(patches: Patches) -> None:
    """Watch what is compiled until `patches` are restored."""
    script, load = torch.jit.script, torch.jit.load

    @functools.wraps(script)
    def watched(obj: Any, *args: Any, **kwargs: Any) -> Any:
        made = script(obj, *args, **kwargs)
        if sys._getframe(1).f_code.co_filename.startswith(_OF_TORCH) or not _names_the_device(made):
            return made
        warn("torch.jit.script: on a stand-in accelerator code that names the device runs as plain Python")
        return obj

    @functools.wraps(load)
    def loaded(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        place = None if map_location is None else STATE.place(map_location)
        made = load(f, map_location if place is None else CPU, *args, **kwargs)
        if map_location is not None:
            mark = HOST if place is None else on(place)
            put_all([*made.parameters(), *made.buffers()], mark)
        return made

    patches.replace(torch.jit, "script", watched)
    patches.replace(torch.jit, "load", loaded)
    for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
        patches.replace(kind, "__call__", _marking(kind.__call__))


def _marking(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = call(self, *args, **kwargs)
        marks = [mark_of(each) for each in tensors_in((args, kwargs))]
        mark = next((each for each in marks if each.pretended), marks[0] if marks else None)
        return result if mark is None else put_all(result, mark)

    return run


def _names_the_device(made: Any) -> bool:
    try:
        graph = str(made.inlined_graph)
    except Exception:  # a class or an interface has none, nor has a module without `forward`
        return False
    return f'="{STATE.kind}' in graph or any(f"{word}(" in graph for word in _ASK_FOR_THE_DEVICE)
