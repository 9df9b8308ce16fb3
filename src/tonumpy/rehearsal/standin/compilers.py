"""Functions of torch that compile, and kernels that a program registers for its device.

`torch.compile` runs the code as plain Python; `torch.jit` compiles as ever. What TorchScript gives lies where its
arguments lie, as compiled code sees tensors of the CPU. Code that names the device or asks for it runs as plain Python.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.child.tonumpy_import_hook import WaitForImport
from tonumpy.rehearsal.standin.marks import mark_of, on, put_all, tensors_in
from tonumpy.rehearsal.standin.reporting import warn
from tonumpy.rehearsal.standin.state import CPU, HOST, STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_DYNAMO = "torch._dynamo"


def patch(patches: Patches) -> None:
    """Make them work until `patches` are restored; torch._dynamo, which is slow to import, once something has."""
    patches.replace(torch, "compile", _Compile())
    patches.replace(torch.compiler, "disable", _disabling(torch.compiler.disable))
    _patch_jit(patches)
    _patch_kernels(patches)
    _without_device_events(patches)
    if _DYNAMO in sys.modules:
        _patch_dynamo(patches)
        return

    def begin() -> None:
        leave()
        _patch_dynamo(patches)

    def leave() -> None:
        if hook in sys.meta_path:
            sys.meta_path.remove(hook)

    hook = WaitForImport(_DYNAMO, begin)
    sys.meta_path.insert(0, hook)
    patches.on_exit(leave)


def _patch_dynamo(patches: Patches) -> None:
    dynamo: Any = sys.modules[_DYNAMO]
    patches.replace(dynamo.OptimizedModule, "_initialize", _initializing(dynamo.OptimizedModule))
    patches.replace(dynamo, "disable", _disabling(dynamo.disable))
    reset = dynamo.reset

    def reset_(*args: Any, **options: Any) -> Any:
        try:
            return reset(*args, **options)
        except ImportError:  # it looks for graphs of CUDA, which this build has no code for
            return None

    patches.replace(dynamo, "reset", reset_)
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        eager = set_stance("force_eager")
        patches.on_exit(lambda: eager.__exit__(None, None, None))


class _Compile:
    """`torch.compile`, whose results run as they are."""

    def __init__(self) -> None:
        self._is_said = False

    def __call__(self, model: Any = None, **options: Any) -> Any:
        """Torch's own wrapper of it, in which nothing is compiled."""
        if model is None:
            return lambda given: self(given, **options)
        if not self._is_said:
            self._is_said = True
            warn("torch.compile: on a stand-in accelerator the code runs as it is")
        if options.get("disable") or not callable(model):
            return model
        import torch._dynamo  # start-up

        from tonumpy.rehearsal.standin.compiled_numpy import compiled  # start-up

        if not hasattr(torch.compiler, "set_stance"):  # before torch 2.6
            return model if isinstance(model, torch.nn.Module) else compiled(model)
        made = torch._dynamo.optimize("eager")(model)
        return made if isinstance(made, torch.nn.Module) else compiled(made)


def _initializing(kind: Any) -> Any:
    """A module is wrapped again when it has been copied or unpickled."""
    from tonumpy.rehearsal.standin.compiled_numpy import compiled, excepted  # start-up

    initialize = kind._initialize

    def initializing(self: Any) -> None:
        initialize(self)
        is_disabled = type(self.dynamo_ctx).__name__ == "DisableContext"
        self.forward = excepted(self.forward, with_calls=True) if is_disabled else compiled(self.forward)

    return initializing


def _disabling(disable: Any) -> Any:
    """`torch.compiler.disable`, which knows of compiled code that is run as it is."""

    def disabling(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
        if fn is None:
            return lambda given: disabling(given, recursive, **options)
        from tonumpy.rehearsal.standin.compiled_numpy import excepted  # start-up

        made = disable(fn, recursive, **options)
        return made if isinstance(made, (type, torch.nn.Module)) else excepted(made, with_calls=recursive)

    return disabling


def _without_device_events(patches: Patches) -> None:
    """A profiler would ask the device's own library for the time of each operator, and say each time that there is
    none."""
    profile = torch.autograd.profiler.profile
    begin = profile.__init__

    def __init__(self: Any, enabled: bool = True, **options: Any) -> None:  # noqa: N807
        options.pop("use_cuda", None)
        begin(self, enabled, **(options | {"use_device": None}))

    patches.replace(profile, "__init__", __init__)


_OF_TORCH = os.path.join(os.path.dirname(torch.__file__), "")  # it compiles functions of its own
_ASK_FOR_THE_DEVICE = ("prim::is_cuda", "prim::is_mps", "prim::is_xpu", "prim::type", "aten::str")


def _patch_jit(patches: Patches) -> None:
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


_KEYS = {"cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "npu": "PrivateUse1"}  # torch's dispatch keys


def _patch_kernels(patches: Patches) -> None:
    """Watch registrations until `patches` are restored. Torch sees CPU tensors, so both keys share a kernel."""
    impl = torch.library.Library.impl
    kernels: dict[tuple[int, str], dict[str, Callable[..., Any]]] = {}

    @functools.wraps(impl)
    def registered(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = _KEYS[STATE.kind]
        if dispatch_key not in (key, "CPU") or not callable(fn):
            return impl(self, op_name, fn, dispatch_key, **options)
        known = kernels.setdefault((id(self), str(op_name)), {})
        is_first = not known
        known[dispatch_key] = fn
        return impl(self, op_name, _chooser(known, key), "CPU", **options) if is_first else None

    patches.replace(torch.library.Library, "impl", registered)


def _chooser(known: dict[str, Callable[..., Any]], key: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        wanted = key if any(mark_of(each).pretended for each in tensors_in((args, kwargs))) else "CPU"
        if wanted not in known:
            raise NotImplementedError(f"Could not run this operator with arguments from the '{wanted}' backend")
        return known[wanted](*args, **kwargs)

    return kernel
