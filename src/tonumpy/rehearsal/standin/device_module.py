"""Answers for `torch.cuda` and its like as with one device: queries, streams, events, memory and libraries."""

from __future__ import annotations

import types
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
import torch.cuda.nccl

from tonumpy.rehearsal.standin import graphs, streams
from tonumpy.rehearsal.standin.marks import mark_of, tensors_in
from tonumpy.rehearsal.standin.state import STATE, on_device
from tonumpy.rehearsal.standin.streams import Event, Stream, StreamContext
from tonumpy.rehearsal.standin.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_CUDA, _CUDNN, _NCCL = "12.8", 91002, (2, 27, 3)  # versions of the year of torch 2.9
_AREAS = ("all", "large_pool", "small_pool")
_KINDS = ("current", "peak", "allocated", "freed")
_COUNTED = (
    "allocation segment active inactive_split allocated_bytes reserved_bytes active_bytes inactive_split_bytes"
    " requested_bytes"
).split()
_SINGLE = "num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free max_split_size".split()


def _patch_libraries(patches: Patches) -> None:
    """Let them answer until `patches` are restored."""
    patches.replace(torch.backends.cudnn, "is_available", lambda: True)
    patches.replace(torch.backends.cudnn, "version", lambda: _CUDNN)
    patches.replace(torch.backends.cuda, "cufft_plan_cache", PlanCache())
    patches.replace(torch.cuda.nccl, "version", lambda: _NCCL)
    patches.replace(torch.cuda.nccl, "is_available", lambda tensors: False)  # noqa: ARG005
    patches.replace(torch.cuda, "cudart", Runtime)
    patches.replace(torch.cuda, "current_blas_handle", lambda: 0)
    if torch.version.cuda is None:
        patches.replace(torch.version, "cuda", _CUDA)


def memory_stats(usage: Usage, number: int) -> dict[str, int]:
    """All that the allocator counts; what is known is how many bytes there are."""
    names = [f"{what}.{area}.{kind}" for what in _COUNTED for area in _AREAS for kind in _KINDS]
    names += [f"{what}.{kind}" for what in ("oversize_allocations", "oversize_segments") for kind in _KINDS]
    stats = dict.fromkeys([*sorted(names), *_SINGLE], 0)
    for what, now, peak in (("allocated", "allocated", "peak"), ("reserved", "reserved", "peak_reserved")):
        stats[f"{what}_bytes.all.current"] = usage.asked(now, number)
        stats[f"{what}_bytes.all.peak"] = usage.asked(peak, number)
    return stats


class PlanCache:
    """`torch.backends.cuda.cufft_plan_cache`: of each device, and of the current one."""

    size = 0
    max_size = 4096

    def clear(self) -> None:
        """It is empty."""

    def __getitem__(self, device: Any) -> PlanCache:
        return self


class Runtime:
    """`torch.cuda.cudart()`: each of its functions succeeds."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: 0  # noqa: ARG005


_MEMORY = 16 * 2**30
_NOTHING = (
    "ipc_collect reset_accumulated_memory_stats"
    " set_per_process_memory_fraction set_sync_debug_mode _record_memory_history _set_allocator_settings"
    " _sleep"
).split()
_ZERO = (
    "utilization memory_usage device_memory_used initial_seed get_sync_debug_mode temperature power_draw clock_rate"
).split()
# As those of an A100: torch says what there is, and nothing is computed with it.
_PROPERTIES = {
    "name": "Stand-in",
    "major": 8,
    "minor": 0,
    "total_memory": _MEMORY,
    "multi_processor_count": 108,
    "is_integrated": 0,
    "is_multi_gpu_board": 0,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "regs_per_multiprocessor": 65536,
    "gcnArchName": "Stand-in",
    "warp_size": 32,
    "uuid": "00000000-0000-0000-0000-000000000000",
    "pci_bus_id": 0,
    "pci_device_id": 0,
    "pci_domain_id": 0,
    "L2_cache_size": 40 * 2**20,
    "clock_rate": 1410000,
    "memory_clock_rate": 1215000,
    "memory_bus_width": 5120,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 166912,
    "shared_memory_per_multiprocessor": 167936,
    "has_fp16": True,
    "has_fp64": True,
}
_OF_XPU = {
    "platform_name": "Stand-in",
    "vendor": "Stand-in",
    "device_id": 0,
    "driver_version": "0",
    "version": "0",
    "max_compute_units": 448,
    "gpu_eu_count": 448,
    "gpu_subslice_count": 56,
    "max_work_group_size": 1024,
    "max_num_sub_groups": 64,
    "sub_group_sizes": [16, 32],
    "local_mem_size": 131072,
    "last_level_cache_size": 192 * 2**20,
    "has_atomic64": True,
    "has_bfloat16_conversions": True,
    "has_subgroup_matrix_multiply_accumulate": True,
    "has_subgroup_matrix_multiply_accumulate_tensor_float32": True,
    "has_subgroup_2d_block_io": True,
    "is_integrated_gpu": False,
    "architecture": 0,
    "type": "gpu",
}
_TRUE = "is_available is_initialized is_bf16_supported is_tf32_supported".split()
_FALSE = "_is_in_bad_fork can_device_access_peer is_current_stream_capturing".split()


class _Marks:
    """The receiver of the marks of `torch.cuda.nvtx`: nobody reads them."""

    def __getattr__(self, name: str) -> Any:
        return _constant(name, 0)


def _of_memory(usage: Usage) -> dict[str, Any]:
    def at(device: Any) -> int:
        number = _number(device)
        return STATE.here.number if number is None else number

    def counted(name: str) -> Callable[..., int]:
        return lambda device=None: usage.asked(name, at(device))

    def reset(device: Any = None) -> None:
        usage.reset_peak(at(device))

    def mem_get_info(device: Any = None) -> tuple[int, int]:
        return _MEMORY - usage.asked("reserved", at(device)), _MEMORY

    found: dict[str, Any] = dict.fromkeys(("memory_allocated", "current_allocated_memory"), counted("allocated"))
    found["max_memory_allocated"] = counted("peak")
    found |= dict.fromkeys(("memory_reserved", "memory_cached", "driver_allocated_memory"), counted("reserved"))
    found |= dict.fromkeys(("max_memory_reserved", "max_memory_cached"), counted("peak_reserved"))
    resets = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")
    found |= dict.fromkeys(resets, reset) | {"empty_cache": usage.empty_cache, "mem_get_info": mem_get_info}
    found["memory_stats"] = lambda device=None: memory_stats(usage, at(device))
    return found


def answers(usage: Usage) -> dict[str, Any]:
    """The answers of the device's module: a function or class for each of its names."""
    found: dict[str, Any] = {}
    for group, value in ((_NOTHING, None), (_ZERO, 0), (_TRUE, True), (_FALSE, False)):
        found.update({name: _constant(name, value) for name in group})
    values: dict[str, Any] = {
        "get_device_name": "Stand-in",
        "get_name": "Stand-in",
        "get_device_capability": (8, 0),
        "get_arch_list": [],
        "recommended_max_memory": _MEMORY,
        "memory_snapshot": [],
        "_snapshot": {"segments": [], "device_traces": []},
        "_dump_snapshot": None,
        "memory_stats_as_nested_dict": {},
        "host_memory_stats": {},
        "memory_summary": "",
        "get_allocator_backend": "native",
        "list_gpu_processes": "",
        "get_device_properties": _properties(STATE.kind),
    }
    found.update({name: _constant(name, value) for name, value in values.items()})
    found |= _of_memory(usage)
    found["get_amp_supported_dtype"] = lambda: [torch.float16, torch.bfloat16]
    found["get_rng_state"] = lambda device=None: torch.get_rng_state()  # noqa: ARG005
    found |= _seeds()
    found["get_rng_state_all"] = lambda: [torch.get_rng_state()] * STATE.count
    found |= {"Stream": Stream, "Event": Event}
    found |= {"stream": StreamContext, "StreamContext": StreamContext}
    found["default_stream"] = lambda device=None: streams.default(_number(device))
    found["current_stream"] = lambda device=None: streams.current(_number(device))
    found |= {"set_device": _set_device, "current_device": lambda: STATE.here.number}
    found |= {"device": _Device, "device_of": _DeviceOf}
    found["get_device_properties"] = _checked(found["get_device_properties"])
    found["get_device_name"] = _checked(found["get_device_name"])
    found["get_device_capability"] = _checked(found["get_device_capability"])
    found |= {"is_available": _is_available, "device_count": _count}
    found |= {"init": STATE.begin_device, "_lazy_init": STATE.begin_device}
    return found | {"set_stream": streams.set_current, "synchronize": streams.synchronize}


def _is_available() -> bool:
    return STATE.count > 0


def _count() -> int:
    return STATE.count


def _checked(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The answer for a device, which must be there."""

    def checked(device: Any = None) -> Any:
        try:
            STATE.place(device)
        except RuntimeError:
            raise AssertionError("Invalid device id") from None
        return answer()

    checked.__name__ = checked.__qualname__ = answer.__name__
    return checked


def _properties(kind: str) -> Any:
    named = type(f"_{kind.capitalize()}DeviceProperties", (types.SimpleNamespace,), {})
    return named(**_PROPERTIES, **(_OF_XPU if kind == "xpu" else {}))


def _number(device: Any) -> int | None:
    """The number of a device; None is the current one. It must be there."""
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


class _Device(on_device):
    """`with torch.cuda.device(...)`."""

    def __init__(self, device: Any = None) -> None:
        self.idx = -1 if device is None else getattr(torch.device(device), "index", device)
        self._wanted = device
        super().__init__(None)

    def __enter__(self) -> None:
        self._number = _number(self._wanted)
        super().__enter__()


class _DeviceOf(on_device):
    """`with torch.cuda.device_of(tensor)`."""

    def __init__(self, obj: Any) -> None:
        place = mark_of(obj).place if isinstance(obj, torch.Tensor) else None
        super().__init__(None if place is None else place.index)


for _kind, _name in ((_Device, "device"), (_DeviceOf, "device_of")):
    _kind.__name__ = _kind.__qualname__ = _name


def _seeds() -> dict[str, Any]:
    """The device draws from the generator of the CPU."""
    generator = torch.default_generator

    def manual_seed(seed: int) -> None:
        generator.manual_seed(int(seed))

    def seed() -> None:
        generator.seed()

    def set_rng_state(new_state: Any, device: Any = None) -> None:
        del device
        generator.set_state(new_state)

    def set_rng_state_all(new_states: Any) -> None:
        for state in new_states:
            generator.set_state(state)

    found: dict[str, Any] = {"manual_seed": manual_seed, "manual_seed_all": manual_seed, "seed": seed, "seed_all": seed}
    return found | {"set_rng_state": set_rng_state, "set_rng_state_all": set_rng_state_all}


def patch(patches: Patches) -> None:
    """Make the module of the device and `torch.accelerator` speak of one device until `patches` are restored."""
    for kind in (Stream, Event):
        patches.replace(kind, "device", property(lambda self: torch.device(STATE.kind, self.device_index)))
    usage = Usage(patches)
    found = answers(usage)
    module = getattr(torch, STATE.kind, None)
    if module is None:
        module = types.ModuleType(f"torch.{STATE.kind}")
        patches.replace(torch, STATE.kind, module)
        patches.put(__import__("sys").modules, module.__name__, module)
    own = [module, *(getattr(module, part) for part in ("memory", "random") if hasattr(module, part))]
    for name, answer in found.items():
        if STATE.kind == "mps" and name in ("Stream", "stream", "current_stream", "device"):
            continue
        for place, owner in enumerate(own):
            if place == 0 or name in vars(owner):
                patches.replace(owner, name, answer)
    if hasattr(module, "nvtx"):  # marks for a profiler of the device
        patches.replace(module.nvtx, "_nvtx", _Marks())
    if STATE.kind == "cuda":
        _patch_libraries(patches)
        graphs.patch(patches)
    if STATE.kind != "mps":
        for name, kind in (("Stream", Stream), ("Event", Event)):
            if hasattr(torch, name):
                patches.replace(torch, name, kind)
    if hasattr(torch._C, "_get_accelerator"):
        accelerator = torch.device(STATE.kind)
        patches.replace(torch._C, "_get_accelerator", lambda check=False: accelerator)  # noqa: ARG005
    _patch_groups(patches)
    _patch_backends(patches)
    _patch_accelerator(patches, found)


def _patch_groups(patches: Patches) -> None:
    """Optimizers group tensors in C++, which names the CPU."""
    group = torch._C._group_tensors_by_device_and_dtype

    def grouped(lists: Any, with_indices: bool = False) -> Any:
        groups = group(lists, with_indices)
        places = {mark_of(each).place for each in tensors_in(lists[:1])}
        if len(places) == 1:
            place = places.pop()
            return groups if place.type == "cpu" else {(place, dtype): found for (_, dtype), found in groups.items()}
        found: dict[Any, Any] = {}  # C++ has brought tensors of several devices together
        for (_, dtype), (columns, numbers) in groups.items():
            for at, number in enumerate(numbers or range(len(columns[0]))):
                first = next(column[at] for column in columns if column and column[at] is not None)
                into = found.setdefault((mark_of(first).place, dtype), ([[] for _ in columns], []))
                for column, taken in zip(columns, into[0], strict=True):
                    taken.extend(column[at : at + 1])
                into[1].append(number)
        return found if with_indices else {key: (columns, []) for key, (columns, _) in found.items()}

    patches.replace(torch._C, "_group_tensors_by_device_and_dtype", grouped)


def _patch_backends(patches: Patches) -> None:
    cudnn = torch.backends.cudnn
    acceptable = cudnn.is_acceptable
    # It would warn of a device that cuDNN was not built for. Nothing follows from the answer but that.
    patches.replace(cudnn, "is_acceptable", lambda tensor: not mark_of(tensor).pretended and acceptable(tensor))
    backend = getattr(torch.backends, STATE.kind, None)
    for name in ("is_built", "is_available"):
        if name in vars(backend or object):
            patches.replace(backend, name, _constant(name, True))


def _patch_accelerator(patches: Patches, found: dict[str, Any]) -> None:
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is None:
        return
    kind = torch.device(STATE.kind)
    of_its_own: dict[str, Any] = {
        "is_available": _is_available,
        "device_count": _count,
        "current_accelerator": _constant("current_accelerator", kind),
        "current_device_index": found["current_device"],
        "current_device_idx": found["current_device"],
        "set_device_index": found["set_device"],
        "set_device_idx": found["set_device"],
        "device_index": found["device"],
        "get_memory_info": found["mem_get_info"],
        "empty_host_cache": _constant("empty_host_cache", None),
    }
    for name in vars(accelerator):
        if name in of_its_own or (name in found and name.islower()):
            patches.replace(accelerator, name, of_its_own.get(name) or found[name])


def _constant(name: str, value: Any) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        return value

    answer.__name__ = answer.__qualname__ = name
    return answer
