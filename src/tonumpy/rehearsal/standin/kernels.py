"""An operator of torch -> what computes it for tensors of the stand-in, on the CPU and in their own memory."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.memory import to_device, to_host, to_host_with_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    Kernel = Callable[..., Any]
    Mixed = Callable[[Any, "list[Any]"], None]

Tensor = torch.Tensor
_CPU = torch.device("cpu")
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_is_autocast_enabled = torch.is_autocast_enabled
HOST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_set = torch.ops.aten.set_.source_Tensor


def as_is(op: Any) -> Kernel:
    """An operator that reads or changes only where in its memory a tensor lies: the CPU's kernel does that for any."""
    redispatch = op.redispatch

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return redispatch(HOST_KEYS, *args, **kwargs)

    return kernel


def computed(op: Any, mixed: Mixed, *, sees_bits: bool = True) -> Kernel:
    """An operator that computes. `mixed` is told of tensors that lie on the CPU and must not.

    `sees_bits`: torch does not resolve conjugate and negative bits before it calls this operator.
    """
    schema = op._schema
    written = [
        (place, argument.name)
        for place, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    call = _without_autocast(op)
    host = to_host_with_bits if sees_bits else to_host
    takes_device = any(argument.name == "device" for argument in schema.arguments)

    def functional(*args: Any, **kwargs: Any) -> Any:
        off: list[Any] = []
        on = _hosts(args, off, host)
        if not kwargs:
            result = call(*on)
            stays = False
        else:
            stays = takes_device and _is_host(kwargs.get("device"))
            result = call(*on, **_host_options(kwargs, off, host))
        if off:
            mixed(op, off)
        return result if stays else devices(result, op)

    def writing(*args: Any, **kwargs: Any) -> Any:
        off: list[Any] = []
        targets = [args[place] if place < len(args) else kwargs.get(name) for place, name in written]
        try:
            result = call(*_hosts(args, off, host), **_host_options(kwargs, off, host))
        except RuntimeError as error:
            if "not resizable" not in str(error):
                raise
            result = _into_new_memory(call, written, args, kwargs)
        if off:
            mixed(op, off)
        return _returned(schema, targets, result, op)

    return writing if written else functional


def _without_autocast(op: Any) -> Kernel:
    """The operator, called so that an autocast of the CPU does not see what belongs to the accelerator."""
    call = op._op

    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not _is_autocast_enabled("cpu"):
            return call(*args, **kwargs)
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return call(*args, **kwargs)

    return guarded


def _returned(schema: Any, targets: list[Any], result: Any, op: Any) -> Any:
    """The results of an operator that writes: what it was given, where that is what it returns."""
    returns = schema.returns
    if not returns:
        return None
    if len(returns) == 1:
        return targets[0] if returns[0].alias_info is not None else devices(result, op)
    left = iter(targets)
    return tuple(
        next(left) if each.alias_info is not None else devices(value, op)
        for each, value in zip(returns, result, strict=True)
    )


def _into_new_memory(call: Kernel, written: list[tuple[int, str]], args: Any, kwargs: Any) -> Any:
    """Compute into new tensors, and let those that were to be written lie where these do."""
    on, options = _hosts(args, [], to_host_with_bits), _host_options(kwargs, [], to_host_with_bits)
    new = []
    for place, name in written:
        old = args[place] if place < len(args) else kwargs.get(name)
        if old is None:
            continue
        fresh = torch.empty(0, dtype=old.dtype)
        new.append((old, fresh))
        if place < len(args):
            on[place] = fresh
        else:
            options[name] = fresh
    result = call(*on, **options)
    for old, fresh in new:
        _set.redispatch(HOST_KEYS, old, to_device(fresh))
    return result


def _hosts(values: Any, off: list[Any], host: Kernel) -> list[Any]:
    """The same arguments on the CPU. Those of more than no dimension that lay there already are added to `off`."""
    found = []
    for value in values:
        if isinstance(value, Tensor):
            if value.is_maia:
                found.append(host(value))
            else:
                if value.dim():
                    off.append(value)
                found.append(value)
        elif type(value) is list or type(value) is tuple:
            found.append(_hosts(value, off, host))
        elif isinstance(value, torch.device):
            found.append(_CPU)
        else:
            found.append(value)
    return found


def _host_options(options: dict[str, Any], off: list[Any], host: Kernel) -> dict[str, Any]:
    found = dict(zip(options, _hosts(options.values(), off, host), strict=True))
    if found.get("pin_memory"):
        found["pin_memory"] = False
    return found


def _is_host(device: Any) -> bool:
    return device is not None and device.type == "cpu"


def devices(result: Any, op: Any) -> Any:
    """The same results on the stand-in. Where one cannot be had there, it stays on the CPU, and a warning says so."""
    if isinstance(result, Tensor):
        try:
            return to_device(result)
        except (RuntimeError, BufferError, TypeError) as error:
            warnings.warn(f"{op}: its result stays on the CPU ({error})", RuntimeWarning, stacklevel=2)
            return result
    if isinstance(result, tuple | list):
        return type(result)(devices(each, op) for each in result)
    return result
