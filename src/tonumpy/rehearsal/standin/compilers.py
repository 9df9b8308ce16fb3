"""Functions of torch that would compile: the same code, run as plain Python on the stand-in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.child.tonumpy_import_hook import WaitForImport
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

_DYNAMO = "torch._dynamo"


def patch(patches: Patches) -> None:
    """Make them work until `patches` are restored; torch._dynamo, which is slow to import, once something has."""
    patches.replace(torch, "compile", _Compile())
    patches.replace(torch.compiler, "disable", _disabling(torch.compiler.disable))
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
