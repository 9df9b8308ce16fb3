"""Replaces the functions of `torch.cuda` and its like: queries, streams, events, memory and libraries."""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable
from numbers import Integral
from typing import Any

import torch
import torch.cuda.nccl

from tonumpy.rehearsal.standin import streams
from tonumpy.rehearsal.standin.marks import STATE, mark_of
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.streams import Event, Stream

_CUDA, _CUDNN, _NCCL = "12.8", 91002, (2, 27, 3)  # versions of the year of torch 2.9
_MEMORY = 16 * 2**30
_NOTHING = """ipc_collect reset_accumulated_memory_stats reset_peak_memory_stats reset_max_memory_allocated
    reset_max_memory_cached empty_cache set_per_process_memory_fraction set_sync_debug_mode _record_memory_history
    _set_allocator_settings _dump_snapshot _sleep empty_host_cache""".split()
_ZERO = """utilization memory_usage device_memory_used initial_seed get_sync_debug_mode temperature power_draw
    clock_rate memory_allocated current_allocated_memory max_memory_allocated memory_reserved memory_cached
    driver_allocated_memory max_memory_reserved max_memory_cached current_blas_handle""".split()
_TRUE = "is_available is_initialized is_bf16_supported is_tf32_supported".split()
_FALSE = "_is_in_bad_fork can_device_access_peer is_current_stream_capturing".split()


class Properties:
    """Device properties like those of an A100, for programs that print them. Every other attribute is 0."""

    name = gcnArchName = platform_name = vendor = "Stand-in"  # noqa: N815
    major, minor, type = 8, 0, "gpu"
    total_memory = _MEMORY
    multi_processor_count = max_compute_units = 108
    max_threads_per_multi_processor, max_threads_per_block, warp_size = 2048, 1024, 32
    regs_per_multiprocessor, shared_memory_per_block, shared_memory_per_multiprocessor = 65536, 49152, 167936
    uuid = "00000000-0000-0000-0000-000000000000"
    sub_group_sizes = (16, 32)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 0


class _Silent:
    """Stands for a library of the device: every function of it returns 0, and every item is again such an object."""

    size = 0
    max_size = 4096  # of the cache of plans of cuFFT

    def __getattr__(self, name: str) -> Any:
        return _constant(0)


def answers() -> dict[str, Any]:
    """The replacements in the device's module: a function or class per name. Memory is not counted."""
    values: dict[str, Any] = dict.fromkeys(_NOTHING) | dict.fromkeys(_ZERO, 0)
    values |= dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
    values |= {
        "get_name": Properties.name,
        "get_arch_list": [],
        "recommended_max_memory": _MEMORY,
        "mem_get_info": (_MEMORY, _MEMORY),
        "memory_stats": Counter(),  # 0 for every key
        "memory_snapshot": [],
        "_snapshot": {"segments": [], "device_traces": []},
        "memory_stats_as_nested_dict": {},
        "host_memory_stats": {},
        "memory_summary": "",
        "get_allocator_backend": "native",
        "list_gpu_processes": "",
        "get_amp_supported_dtype": [torch.float16, torch.bfloat16],
    }
    found = {name: _constant(value) for name, value in values.items()}
    generator = torch.default_generator  # the device draws from it
    return found | {
        "get_device_properties": _checked(Properties()),
        "get_device_name": _checked(Properties.name),
        "get_device_capability": _checked((Properties.major, Properties.minor)),
        "is_available": lambda: STATE.count > 0,
        "device_count": lambda: STATE.count,
        "init": lambda: STATE.place(0),
        "_lazy_init": lambda: STATE.place(0),
        "set_device": _set_device,
        "current_device": lambda: STATE.here.number,
        "device": _Device,
        "device_of": _DeviceOf,
        "Stream": Stream,
        "Event": Event,
        "stream": streams.stream,
        "StreamContext": streams.stream,
        "default_stream": lambda device=None: streams.default(_number(device)),
        "current_stream": lambda device=None: streams.current(_number(device)),
        "set_stream": streams.set_current,
        "synchronize": streams.synchronize,
        "manual_seed": lambda seed: generator.manual_seed(int(seed)),
        "manual_seed_all": lambda seed: generator.manual_seed(int(seed)),
        "seed": lambda: generator.seed(),  # torch._dynamo has other rules for the method itself
        "seed_all": lambda: generator.seed(),
        "get_rng_state": lambda device=None: torch.get_rng_state(),  # noqa: ARG005
        "get_rng_state_all": lambda: [torch.get_rng_state()] * STATE.count,
        "set_rng_state": lambda new_state, device=None: generator.set_state(new_state),  # noqa: ARG005
        "set_rng_state_all": lambda new_states: [generator.set_state(state) for state in new_states],
    }


def _checked(value: Any) -> Callable[..., Any]:
    """A function that returns `value`; AssertionError for a device that does not exist."""

    def checked(device: Any = None) -> Any:
        try:
            STATE.place(device)
        except RuntimeError:
            raise AssertionError("Invalid device id") from None
        return value

    return checked


def _number(device: Any) -> int | None:
    """The index of a device; None for None or -1, the current one. Raises if the device does not exist."""
    if device is None or (isinstance(device, Integral) and int(device) < 0):
        return None
    place = STATE.place(device)
    if place is None:
        raise ValueError(f"Expected a {STATE.kind} device, but got: {device}")
    return int(place.index)


def _set_device(device: Any) -> None:
    number = _number(device)
    if number is not None:
        STATE.here.number = number


class _Device:
    """`with torch.cuda.device(...)`: the current device of the thread; None and -1 change nothing."""

    def __init__(self, device: Any = None) -> None:
        self.idx = -1 if device is None else device if isinstance(device, Integral) else torch.device(device).index
        self._wanted = device

    def __enter__(self) -> None:
        self._former = STATE.here.number
        _set_device(self._wanted)

    def __exit__(self, *error: object) -> None:
        STATE.here.number = self._former


class _DeviceOf(_Device):
    """`with torch.cuda.device_of(tensor)`."""

    def __init__(self, obj: Any) -> None:
        super().__init__(mark_of(obj).place.index if isinstance(obj, torch.Tensor) else None)


def patch(patches: Patches) -> None:
    """Patch the device's module, `torch.accelerator` and the backends to report the stand-in's devices."""
    found = answers()
    module = getattr(torch, STATE.kind, None)
    if module is None:
        module = types.ModuleType(f"torch.{STATE.kind}")
        patches.replace(torch, STATE.kind, module)
        patches.put(sys.modules, module.__name__, module)
    own = [module, *(getattr(module, part) for part in ("memory", "random") if hasattr(module, part))]
    for name, answer in found.items():
        if STATE.kind == "mps" and name in ("Stream", "stream", "current_stream", "device"):
            continue
        for owner in own:
            if owner is module or name in vars(owner):
                patches.replace(owner, name, answer)
    if hasattr(module, "nvtx"):  # marks for a profiler of the device
        patches.replace(module.nvtx, "_nvtx", _Silent())
    if STATE.kind != "mps":
        for name, kind in (("Stream", Stream), ("Event", Event)):
            if hasattr(torch, name):
                patches.replace(torch, name, kind)
    if hasattr(torch._C, "_get_accelerator"):
        patches.replace(torch._C, "_get_accelerator", _constant(torch.device(STATE.kind)))
    _patch_groups(patches)
    _patch_libraries(patches)
    _patch_accelerator(patches, found)


def _patch_groups(patches: Patches) -> None:
    """Let optimizers group tensors by pretended device; torch's C++ would group them all as CPU tensors."""
    group = torch._C._group_tensors_by_device_and_dtype

    def grouped(lists: Any, with_indices: bool = False) -> Any:
        groups, places = group(lists, with_indices), {mark_of(each).place for each in lists[0]}
        if len(places) == 1:  # the usual case, at each step of an optimizer
            place = places.pop()
            return groups if place.type == "cpu" else {(place, dtype): found for (_, dtype), found in groups.items()}
        found: dict[Any, Any] = {}
        for (_, dtype), (columns, numbers) in groups.items():
            for at, first in enumerate(columns[0]):
                parts, chosen = found.setdefault((mark_of(first).place, dtype), ([[] for _ in columns], []))
                for part, column in zip(parts, columns, strict=True):
                    part += column[at : at + 1]
                chosen += numbers[at : at + 1]
        return found

    patches.replace(torch._C, "_group_tensors_by_device_and_dtype", grouped)


def _patch_libraries(patches: Patches) -> None:
    """Patch the queries of cuDNN, cuFFT and the other backends."""
    cudnn = torch.backends.cudnn
    acceptable = cudnn.is_acceptable
    # torch's own would warn of a device that cuDNN was not built for; the answer has no other effect.
    patches.replace(cudnn, "is_acceptable", lambda tensor: not mark_of(tensor).pretended and acceptable(tensor))
    backend = getattr(torch.backends, STATE.kind, None)
    for name in ("is_built", "is_available"):
        if name in vars(backend or object):
            patches.replace(backend, name, _constant(True))
    if STATE.kind != "cuda":
        return
    for owner, name, value in (
        (cudnn, "is_available", _constant(True)),
        (cudnn, "version", _constant(_CUDNN)),
        (torch.backends.cuda, "cufft_plan_cache", _Silent()),
        (torch.cuda.nccl, "version", _constant(_NCCL)),
        (torch.cuda.nccl, "is_available", _constant(False)),
        (torch.cuda, "cudart", _Silent),
        (torch.version, "cuda", torch.version.cuda or _CUDA),
    ):
        patches.replace(owner, name, value)


def _patch_accelerator(patches: Patches, found: dict[str, Any]) -> None:
    accelerator = getattr(torch, "accelerator", None)
    of_its_own = {
        "current_accelerator": _constant(torch.device(STATE.kind)),
        "current_device_index": found["current_device"],
        "current_device_idx": found["current_device"],
        "set_device_index": found["set_device"],
        "set_device_idx": found["set_device"],
        "device_index": found["device"],
        "get_memory_info": found["mem_get_info"],
    }
    for name, answer in (found | of_its_own).items():
        if name.islower() and name in vars(accelerator or object):
            patches.replace(accelerator, name, answer)


def _constant(value: Any) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        return value

    return answer
