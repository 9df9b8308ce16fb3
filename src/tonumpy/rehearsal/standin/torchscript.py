"""`torch.jit` -> it compiles as ever, for functions of torch that were replaced, too.

In compiled code the device has the name that it has in C++. Code that asks for that name, or writes one, runs as plain
Python instead.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

import torch
import torch.jit._builtins

from tonumpy.rehearsal.standin.memory import inner_at, is_inner
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_OF_TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # it reads the graphs of its own functions
_ASK_FOR_THE_DEVICE = ("prim::is_cuda", "prim::is_mps", "prim::is_xpu", "prim::type", "aten::str")


_text_of = torch._C.Graph.__str__  # in C++'s words, in which a device that the code names is told from one it has


def replace(patches: Patches, name: str, new: Any) -> None:
    """Replace a function of torch, in compiled code, too: that calls for `new` the operator which it calls for the
    former one."""
    old, table = getattr(torch, name), torch.jit._builtins._get_builtin_table()
    if id(old) in table:
        patches.put(table, id(new), table[id(old)])
    patches.replace(torch, name, new)


def patch(patches: Patches, kind: str, inner: Callable[[Any], Any]) -> None:
    """Watch what is compiled until `patches` are restored."""
    script, load = torch.jit.script, torch.jit.load

    @functools.wraps(script)
    def watched(obj: Any, *args: Any, **kwargs: Any) -> Any:
        made = script(obj, *args, **kwargs)
        if sys._getframe(1).f_code.co_filename.startswith(_OF_TORCH) or not _names_the_device(made, kind):
            return made
        warn("torch.jit.script: on a stand-in accelerator code that names the device runs as plain Python")
        return obj

    @functools.wraps(load)
    def loaded(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if map_location is not None and not is_inner(inner(map_location)):
            return load(f, map_location, *args, **kwargs)
        start = f.tell() if map_location is None and hasattr(f, "tell") else None
        try:
            if map_location is None:
                return load(f, None, *args, **kwargs)
        except RuntimeError as error:  # where it was saved, it lay on the stand-in
            if "MAIA" not in str(error):
                raise
            if start is not None:
                f.seek(start)
        return load(f, "cpu", *args, **kwargs).to(inner_at(None) if map_location is None else inner(map_location))

    apply = torch.jit.ScriptModule._apply

    def _apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = list(self._parameters.items())
        try:
            return apply(self, *args, **kwargs)
        finally:
            for name, parameter in before:  # the same object in Python, and another one in C++: see moves.py
                self._c.setattr(name, parameter)

    patches.replace(torch.jit.ScriptModule, "_apply", _apply)
    patches.replace(torch.jit, "script", watched)
    patches.replace(torch.jit, "load", loaded)


def _names_the_device(made: Any, kind: str) -> bool:
    try:
        graph = _text_of(made.inlined_graph)
    except Exception:  # a class or an interface has none, nor has a module without `forward`
        return False
    return f'="{kind}' in graph or any(f"{word}(" in graph for word in _ASK_FOR_THE_DEVICE)
