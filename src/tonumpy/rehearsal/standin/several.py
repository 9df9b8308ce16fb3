"""More than one device: each operator computes on the device of its tensors, and refuses those of two.

Where there is one device alone nothing of this is in the way of an operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.parallel.scatter_gather

from tonumpy.rehearsal.standin.kernels import tensors_in
from tonumpy.rehearsal.standin.memory import here, number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.kernels import Kernel, Mixed
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

# Operators that are given tensors of several devices and bring them together.
_MOVES = frozenset(
    f"aten::{name}"
    for name in "copy_ _to_copy copy _foreach_copy_ is_same_size resize_as_ _has_same_storage_numel".split()
)


class on_device:  # noqa: N801 -- as torch's own
    """While it lasts, a device is the current one of the thread."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._former = here.number
        if self._number is not None:
            here.number = self._number

    def __exit__(self, *error: object) -> None:
        here.number = self._former


def placing(op: Any, kernel: Kernel, mixed: Mixed) -> Kernel:
    """The kernel of an operator, on the device of what it is given. `mixed` is told of tensors of two devices."""
    moves = op is not None and op._schema.name in _MOVES
    takes_device = op is None or any(argument.name == "device" for argument in op._schema.arguments)

    def placed(*args: Any, **kwargs: Any) -> Any:
        called, given = (op, args) if op is not None else (args[0], args[1:])
        on = [each for each in tensors_in((given, kwargs)) if each.is_maia]
        number = number_of(on[0]) if on else None
        elsewhere = [] if moves else [each for each in on if number_of(each) != number]
        if elsewhere:
            mixed(called, elsewhere, (given, kwargs))
        with on_device(_asked((*given, *kwargs.values()), number) if takes_device else number):
            return kernel(*args, **kwargs)

    return placed


def _asked(given: tuple[Any, ...], number: int | None) -> int | None:
    """The number of the accelerator that is named there; `number` where none is."""
    asked = next((each for each in given if isinstance(each, torch.device)), None)
    return number if asked is None or asked.type == "cpu" else asked.index


def patch(patches: Patches, names: Names) -> None:
    """Let modules be spread over the devices by moves that autograd knows, until `patches` are restored."""
    module, comm = torch.nn.parallel.scatter_gather, torch.nn.parallel._functions

    def scatter(devices: Any, sizes: Any, dim: int, value: Any) -> tuple[Any, ...]:
        parts = value.chunk(len(devices), dim) if sizes is None else value.split(sizes, dim)
        return tuple(part.to(names.inner(device)) for part, device in zip(parts, devices, strict=False))

    def gather(device: Any, dim: int, *outputs: Any) -> Any:
        there = names.inner(device) if not isinstance(device, torch.device) or device.type != "cpu" else device
        moved = [each.to(there) for each in outputs]
        return torch.cat([each.reshape(1) for each in moved] if not moved[0].dim() else moved, dim)

    def broadcast(devices: Any, *tensors: Any) -> tuple[Any, ...]:
        return tuple(each.to(names.inner(device)) for device in devices for each in tensors)

    replaced: dict[str, Callable[..., Any]] = {"Scatter": scatter, "Gather": gather, "Broadcast": broadcast}
    for name, function in replaced.items():
        for owner in (module, comm):
            if hasattr(owner, name):
                patches.replace(owner, name, _applied(function))
    _patch_comm(patches, scatter, gather, broadcast)


def _applied(function: Callable[..., Any]) -> Any:
    return type("Function", (), {"apply": staticmethod(function)})


def _patch_comm(patches: Patches, scatter: Any, gather: Any, broadcast: Any) -> None:
    comm = getattr(torch.nn.parallel, "comm", None)
    if comm is None:
        return

    def scatter_(tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, **options: Any) -> Any:
        del options
        return scatter(devices, chunk_sizes, dim, tensor)

    def broadcast_(tensor: Any, devices: Any = None, *, out: Any = None) -> Any:
        return broadcast(devices, tensor) if out is None else tuple(each.copy_(tensor) for each in out)

    def broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int = 0) -> Any:
        del buffer_size
        return [list(broadcast([device], *tensors)) for device in devices]

    def gather_(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
        made = gather("cuda" if destination is None else destination, dim, *tensors)
        return made if out is None else out.copy_(made)

    def reduce_add(inputs: Any, destination: Any = None) -> Any:
        there = inputs[0].device if destination is None else destination
        return sum(each.to(there) for each in inputs)

    replaced = {"scatter": scatter_, "broadcast": broadcast_, "broadcast_coalesced": broadcast_coalesced}
    for name, function in (replaced | {"gather": gather_, "reduce_add": reduce_add}).items():
        patches.replace(comm, name, function)
