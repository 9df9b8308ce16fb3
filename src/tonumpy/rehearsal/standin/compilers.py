"""What would compile -> the same, run as plain Python on the stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch._dynamo  # whole before anything is replaced: it compares what torch has with what it expects

from tonumpy.rehearsal.standin.compiled_code import compiled, excepted
from tonumpy.rehearsal.standin.memory import INNER, is_inner
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches, names: Names) -> None:
    """Make them work until `patches` are restored."""
    patches.replace(torch, "compile", _Compile())
    patches.replace(torch._dynamo.OptimizedModule, "_initialize", _initializing(torch._dynamo.OptimizedModule))
    disable = _disabling(torch._dynamo.disable)
    for owner in (torch.compiler, torch._dynamo):
        patches.replace(owner, "disable", disable)
    _run_eagerly(patches)
    _without_nested_memory(patches, names)
    _without_fast_path(patches)
    _without_fusion(patches)
    _with_foreach(patches)
    _without_device_events(patches)


def _without_nested_memory(patches: Patches, names: Names) -> None:
    """A nested tensor that is no jagged one holds all its parts in a memory which only known devices have."""
    make = torch.nested.nested_tensor

    def nested_tensor(tensor_list: Any, **options: Any) -> Any:
        layout = options.get("layout")
        if layout in (None, torch.strided) and is_inner(names.inner(options.get("device"))):
            warn("torch.nested.nested_tensor: it stays on the CPU, and with layout=torch.jagged it does not")
            hosts = [each.cpu() if isinstance(each, torch.Tensor) else each for each in tensor_list]
            return make(hosts, **(options | {"device": "cpu"}))
        return make(tensor_list, **options)

    patches.replace(torch.nested, "nested_tensor", nested_tensor)


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
        if not hasattr(torch.compiler, "set_stance"):  # before torch 2.6
            return model if isinstance(model, torch.nn.Module) else compiled(model)
        made = torch._dynamo.optimize("eager")(model)
        return made if isinstance(made, torch.nn.Module) else compiled(made)


def _initializing(kind: Any) -> Any:
    """A module is wrapped again when it has been copied or unpickled."""
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
        made = disable(fn, recursive, **options)
        return made if isinstance(made, (type, torch.nn.Module)) else excepted(made, with_calls=recursive)

    return disabling


def _run_eagerly(patches: Patches) -> None:
    """Let what is compiled run as it is, and nothing be left to reset but that."""
    reset = torch._dynamo.reset

    def reset_(*args: Any, **options: Any) -> Any:
        try:
            return reset(*args, **options)
        except ImportError:  # it looks for graphs of CUDA, which this build has no code for
            return None

    patches.replace(torch._dynamo, "reset", reset_)
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        eager = set_stance("force_eager")
        patches.on_exit(lambda: eager.__exit__(None, None, None))


def _without_fast_path(patches: Patches) -> None:
    """The fast path of attention makes nested tensors, which the stand-in cannot have."""
    mha = getattr(torch.backends, "mha", None)
    if mha is not None and mha.get_fastpath_enabled():
        mha.set_fastpath_enabled(False)
        patches.on_exit(lambda: mha.set_fastpath_enabled(True))


def _with_foreach(patches: Patches) -> None:
    """What handles many tensors at once asks C++ for their device, and whether that has operators for this."""
    utils = torch.utils._foreach_utils
    supported = getattr(utils, "_get_foreach_kernels_supported_devices", None)
    if supported is not None:
        patches.replace(utils, supported.__name__, lambda: [*supported(), INNER.type])


def _without_fusion(patches: Patches) -> None:
    """TorchScript would have code for a GPU made."""
    can_fuse = getattr(torch._C, "_jit_can_fuse_on_gpu", None)
    if can_fuse is not None and can_fuse():
        torch._C._jit_override_can_fuse_on_gpu(False)
        patches.on_exit(lambda: torch._C._jit_override_can_fuse_on_gpu(True))


def _without_device_events(patches: Patches) -> None:
    """A profiler would ask the device's own library for the time of each operator, and say each time that there is
    none."""
    profile = torch.autograd.profiler.profile
    begin = profile.__init__

    def __init__(self: Any, enabled: bool = True, **options: Any) -> None:  # noqa: N807
        options.pop("use_cuda", None)
        begin(self, enabled, **(options | {"use_device": None}))

    patches.replace(profile, "__init__", __init__)
