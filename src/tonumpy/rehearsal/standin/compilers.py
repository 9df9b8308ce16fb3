"""Patches torch's compilers, and the registration of kernels for the device.

`torch.compile` runs the code as plain Python; `torch.jit` compiles as ever. TorchScript sees CPU tensors, and its
results are marked with the device of its arguments; code that names or queries the device runs as plain Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from tonumpy.rehearsal.standin.marks import CPU, STATE, at, first_of, mark_of, put_all, tensors_in
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import warn


def patch(patches: Patches) -> None:
    """Patch the compilers; torch._dynamo, which is slow to import, once the program has imported it."""
    patches.replace(torch, "compile", _compiling(patches))
    patches.around(torch.compiler, "disable", _disabling)
    patches.around(torch.autograd.profiler.profile, "__init__", _without_device_events)
    patches.around(torch.jit, "script", _script)
    patches.around(torch.jit, "load", _load)
    for kind in (torch._C.ScriptFunction, torch._C.ScriptMethod):
        patches.around(kind, "__call__", _run_script)
    patches.around(torch.library.Library, "impl", _register)
    patches.once_imported("torch._dynamo", lambda: _patch_dynamo(patches))


def _patch_dynamo(patches: Patches) -> None:
    dynamo: Any = sys.modules["torch._dynamo"]
    patches.around(dynamo.OptimizedModule, "_initialize", _initializing)
    patches.around(dynamo, "disable", _disabling)
    patches.around(dynamo, "reset", _resetting)
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        patches.push(set_stance("force_eager"))


def _resetting(reset: Any, *args: Any, **options: Any) -> Any:
    try:
        return reset(*args, **options)
    except ImportError:  # it looks for CUDA graphs, which this build lacks
        return None


def _compiling(patches: Patches) -> Callable[..., Any]:
    waiting = [patches]

    def compile(model: Any = None, **options: Any) -> Any:
        """Wrap the model as `torch.compile` does, with the backend "eager", which compiles nothing."""
        if model is None:
            return lambda given: compile(given, **options)
        import torch._dynamo  # start-up

        from tonumpy.rehearsal.standin import compiled_numpy  # start-up

        if waiting:
            warn("torch.compile: on a stand-in accelerator the code runs as it is")
            compiled_numpy.patch(waiting.pop())
        if options.get("disable") or not callable(model):
            return model
        made = model
        if hasattr(torch.compiler, "set_stance"):  # since torch 2.6
            made = torch._dynamo.optimize("eager")(model)
        return made if isinstance(made, torch.nn.Module) else compiled_numpy.compiled(made)

    return compile


def _initializing(initialize: Any, module: Any) -> None:
    """Initialize an OptimizedModule, also when it is copied or unpickled, and wrap its `forward` as compiled code."""
    from tonumpy.rehearsal.standin.compiled_numpy import compiled, excepted  # start-up

    initialize(module)
    is_disabled = type(module.dynamo_ctx).__name__ == "DisableContext"
    module.forward = excepted(module.forward) if is_disabled else compiled(module.forward)


def _disabling(disable: Any, fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """`torch.compiler.disable`, whose result also runs as plain code here."""
    if fn is None:
        return lambda given: _disabling(disable, given, recursive, **options)
    from tonumpy.rehearsal.standin.compiled_numpy import excepted  # start-up

    made = disable(fn, recursive, **options)
    return made if isinstance(made, (type, torch.nn.Module)) else excepted(made)


def _without_device_events(begin: Any, profile: Any, enabled: bool = True, **options: Any) -> None:
    """Create a profiler without device events: it would query the device's library for the time of each operator and
    warn each time that there is none."""
    options.pop("use_cuda", None)
    begin(profile, enabled, **(options | {"use_device": None}))


_OF_TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # it compiles functions of its own
_ASK_FOR_THE_DEVICE = ("prim::is_cuda", "prim::is_mps", "prim::is_xpu", "prim::type", "aten::str")


def _script(script: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    frames = kwargs.pop("_frames_up", 0) + 2  # names in a class are looked up in the caller, beyond our frames
    made = script(obj, *args, _frames_up=frames, **kwargs)
    if sys._getframe(2).f_code.co_filename.startswith(_OF_TORCH) or not _names_the_device(made):
        return made
    warn("torch.jit.script: on a stand-in accelerator code that names the device runs as plain Python")
    return obj


def _names_the_device(made: Any) -> bool:
    try:
        graph = str(made.inlined_graph)
    except Exception:  # a class or an interface has none, nor has a module without `forward`
        return False
    return f'="{STATE.kind}' in graph or any(f"{word}(" in graph for word in _ASK_FOR_THE_DEVICE)


def _load(load: Any, f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
    mark = at(map_location)
    made = load(f, CPU if mark.pretended else map_location, *args, **kwargs)
    if map_location is not None:
        put_all([*made.parameters(), *made.buffers()], mark)
    return made


def _run_script(call: Any, scripted: Any, *args: Any, **kwargs: Any) -> Any:
    result = call(scripted, *args, **kwargs)
    return put_all(result, first_of([mark_of(each) for each in tensors_in((args, kwargs))]))


_KEYS = {"cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "npu": "PrivateUse1"}  # torch's dispatch keys


def _register(impl: Any, library: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
    """Register a kernel for the device as a CPU kernel, unless the operator has one: torch sees CPU tensors."""
    if dispatch_key == _KEYS[STATE.kind]:
        name = f"{library.ns}::{str(op_name).rpartition('::')[2]}"
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"):
            return None
        dispatch_key = "CPU"
    return impl(library, op_name, fn, dispatch_key, **options)
