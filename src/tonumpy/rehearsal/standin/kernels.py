"""An operator of torch -> what computes it for tensors of the stand-in, on the CPU and in their own memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tonumpy.rehearsal.standin.memory import to_device, to_device_with_bits, to_host, to_host_with_bits
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Kernel = Callable[..., Any]
    Mixed = Callable[[Any, "list[Any]", Any], None]

Tensor = torch.Tensor
_CPU = torch.device("cpu")
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_is_autocast_enabled = torch.is_autocast_enabled
_is_any_autocast_enabled = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)  # costs a tenth of the former
HOST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_set = torch.ops.aten.set_.source_Tensor
_resize = torch.ops.aten.resize_.default


def as_is(op: Any) -> Kernel:
    """An operator that reads or changes only where in its memory a tensor lies: the CPU's kernel does that for any."""
    return functools.partial(op._handle.redispatch_boxed, HOST_KEYS)  # without a frame of Python's


def resize(tensor: Any, size: Any, **options: Any) -> Any:
    """`resize_`: memory that came from elsewhere cannot grow, so a tensor that must grow is given new memory."""
    old = to_host(tensor)
    try:
        return _resize.redispatch(HOST_KEYS, tensor, size, **options)
    except RuntimeError as error:  # the tensor has got its new size by now, and not the memory for it
        if "not resizable" not in str(error):
            raise
    grown = torch.empty(0, dtype=tensor.dtype)
    _resize(grown, size, **options)
    if old.is_contiguous():
        grown.view(-1)[: old.numel()].copy_(old.view(-1))
    return _set.redispatch(HOST_KEYS, tensor, to_device(grown))


# Types of arguments, in the words of TorchScript: one tensor or none, and those that hold no tensor and no device.
_ONE_TENSOR = frozenset(("Tensor", "Optional[Tensor]"))
_PLAIN = frozenset(
    each.format(word)
    for word in ("int", "float", "bool", "number", "str", "complex")
    for each in ("{}", "Optional[{}]", "List[{}]", "Optional[List[{}]]")
)
# Is given the arguments and the result of each operator, once there is a tensor that a told fault has given.
on_result: Callable[[Any, Any], Any] | None = None


class _Operator(NamedTuple):
    """What a kernel must know of its operator."""

    op: Any
    call: Kernel
    host: Kernel  # takes a tensor to the CPU
    mixed: Mixed
    written: tuple[tuple[int, str], ...]  # the place and name of each argument that it writes
    tensors: tuple[int, ...]  # the places of its arguments that are one tensor, or none
    others: tuple[int, ...]  # the places of those that may hold tensors, or a device
    gives: tuple[bool, ...]  # for each of its results whether that is what it wrote

    def targets(self, args: Any, kwargs: Any) -> list[Any]:
        """The arguments that it writes."""
        return [args[place] if place < len(args) else kwargs.get(name) for place, name in self.written]


def computed(op: Any, mixed: Mixed, *, sees_bits: bool = True) -> Kernel:
    """An operator that computes. `mixed` is told of tensors that lie on the CPU and must not.

    `sees_bits`: torch does not resolve conjugate and negative bits before it calls this operator.
    """
    known, arguments = _operator(op, mixed, to_host_with_bits if sees_bits else to_host), op._schema.arguments
    if not known.written:
        return _functional(known, takes_device=any(argument.name == "device" for argument in arguments))
    return _into_outputs(known) if any(argument.is_out for argument in arguments) else _in_place(known)


def _operator(op: Any, mixed: Mixed, host: Kernel) -> _Operator:
    """What the schema of an operator says of it."""
    arguments = op._schema.arguments
    words = [str(each.type) for each in arguments]
    written = tuple(
        (place, argument.name)
        for place, argument in enumerate(arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    tensors = tuple(place for place, word in enumerate(words) if word in _ONE_TENSOR)
    others = tuple(place for place, word in enumerate(words) if word not in _ONE_TENSOR | _PLAIN)
    gives = tuple(each.alias_info is not None for each in op._schema.returns)
    return _Operator(op, op._op, host, mixed, written, tensors, others, gives)


def strict(op: Any, kernel: Kernel, mixed: Mixed) -> Kernel:
    """The kernel of an operator that takes no tensor without dimensions from the CPU either."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        scalars = [each for each in tensors_in(args) if each.is_cpu and not each.dim()]
        if scalars:
            mixed(op, scalars, (args, kwargs))
        return kernel(*args, **kwargs)

    return checked


def tensors_in(values: Any) -> Iterator[Any]:
    """Those among the arguments of an operator."""
    for each in values:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, dict):
            yield from tensors_in(each.values())
        elif isinstance(each, list | tuple):
            yield from tensors_in(each)


def _functional(known: _Operator, *, takes_device: bool) -> Kernel:
    op, call, host, mixed, _, places, others, _ = known

    def functional(*args: Any, **kwargs: Any) -> Any:
        off: list[Any] = []
        on, count = list(args), len(args)
        for place in places:  # as `_arguments`, which a call of Python's more would be, for each operator
            if place < count and isinstance(value := args[place], Tensor):
                if value.is_maia:
                    on[place] = host(value)
                elif value.dim():
                    off.append(value)
        if others:
            _other_arguments(known, on, off)
        stays = False
        if kwargs:
            stays = takes_device and _is_host(kwargs.get("device"))
            kwargs_on = _host_options(kwargs, off, host)
            result = call(*on, **kwargs_on) if not _is_any_autocast_enabled() else _guarded(call, on, kwargs_on)
        else:
            result = call(*on) if not _is_any_autocast_enabled() else _guarded(call, on, {})
        if off:
            mixed(op, off, (args, kwargs))
        if stays:
            return result
        if isinstance(result, Tensor):
            for place in places:  # memory has one owner, so it is not taken in once more
                if place < count and on[place] is result:
                    return args[place]
        return devices(result, op) if on_result is None else on_result(args, devices(result, op))

    return functional


def _in_place(known: _Operator) -> Kernel:
    op, call, host, mixed, written, _, _, gives = known
    target = written[0][0] if len(written) == 1 and gives in ((), (True,)) else None
    counts = op._schema.name.startswith("aten::_foreach_")  # autograd leaves the count of writes to the kernel there

    def in_place(*args: Any, **kwargs: Any) -> Any:
        off: list[Any] = []
        on = _arguments(known, args, off)
        options = _host_options(kwargs, off, host) if kwargs else kwargs
        if off:  # before anything is written
            mixed(op, off, (args, kwargs))
        result = call(*on, **options) if not _is_any_autocast_enabled() else _guarded(call, on, options)
        if counts:
            torch.autograd.graph.increment_version(tensors_in(known.targets(args, kwargs)))
        if target is not None and target < len(args):
            return args[target] if gives else None
        return _returned(known, known.targets(args, kwargs), result)

    return in_place


def _into_outputs(known: _Operator) -> Kernel:
    op, call, host, mixed, written, *_ = known

    def into_outputs(*args: Any, **kwargs: Any) -> Any:
        off: list[Any] = []
        on, options = _hosts(args, off, host), _host_options(kwargs, off, host)
        if off:
            mixed(op, off, (args, kwargs))
        targets = known.targets(args, kwargs)
        try:
            result = _guarded(call, on, options)
        except RuntimeError as error:
            if "not resizable" not in str(error):
                raise
            result = _into_new_memory(call, written, args, kwargs)
        else:
            try:
                for (place, name), target in zip(written, targets, strict=True):
                    _adapt(target, on[place] if place < len(on) else options.get(name))
            except Exception as error:
                warn(f"{op}: its result stays on the CPU ({error})")
                return result
        return _returned(known, targets, result)

    return into_outputs


def _adapt(target: Any, host: Any) -> None:
    """Give an output the size and the bits that it has got on the CPU."""
    if isinstance(target, list | tuple):
        for one, other in zip(target, host, strict=True):
            _adapt(one, other)
    elif target is not None and target.is_maia:
        if target.is_conj() != host.is_conj():
            _set.redispatch(HOST_KEYS, target, to_device(host.resolve_conj()))
        elif target.shape != host.shape:  # the memory stays the same: what owns it on the CPU is the target itself
            _resize.redispatch(HOST_KEYS, target, host.shape)


def _guarded(call: Kernel, on: list[Any], options: dict[str, Any]) -> Any:
    """The operator, called so that an autocast of the CPU does not see what belongs to the accelerator."""
    if not _is_autocast_enabled("cpu"):
        return call(*on, **options)
    with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
        return call(*on, **options)


def _returned(known: _Operator, targets: list[Any], result: Any) -> Any:
    """The results of an operator that writes: what it was given, where that is what it returns."""
    try:
        return _in_places(known.gives, targets, result, known.op)
    except Exception as error:
        warn(f"{known.op}: its result stays on the CPU ({error})")
        return result


def _in_places(gives: tuple[bool, ...], targets: list[Any], result: Any, op: Any) -> Any:
    if not gives:
        return None
    if len(gives) == 1:
        return targets[0] if gives[0] else devices(result, op)
    left = iter(targets)
    return tuple(next(left) if is_given else devices(value, op) for is_given, value in zip(gives, result, strict=True))


def _into_new_memory(call: Kernel, written: tuple[tuple[int, str], ...], args: Any, kwargs: Any) -> Any:
    """Compute into new tensors, and let those that were to be written lie where these do."""
    on, options = _hosts(args, [], to_host_with_bits), _host_options(kwargs, [], to_host_with_bits)
    new = []
    for place, name in written:
        old = args[place] if place < len(args) else kwargs.get(name)
        if not isinstance(old, Tensor):  # what is written is no list where `out` can be of any size
            continue
        fresh = torch.empty(0, dtype=old.dtype)
        new.append((old, fresh))
        if place < len(args):
            on[place] = fresh
        else:
            options[name] = fresh
    result = _guarded(call, on, options)
    for old, fresh in new:
        _set.redispatch(HOST_KEYS, old, to_device(fresh.resolve_conj()))
    return result


def _arguments(known: _Operator, args: Any, off: list[Any]) -> list[Any]:
    """`_hosts` of the arguments of an operator, of which it is known where tensors can stand."""
    on, count, host = list(args), len(args), known.host
    for place in known.tensors:
        if place >= count:
            break
        value = on[place]
        if not isinstance(value, Tensor):  # none, or a number
            continue
        if value.is_maia:
            on[place] = host(value)
        elif value.dim():
            off.append(value)
    if known.others:
        _other_arguments(known, on, off)
    return on


def _other_arguments(known: _Operator, on: list[Any], off: list[Any]) -> None:
    """Lists of tensors, and devices."""
    for place in known.others:
        if place < len(on):
            on[place] = _hosts((on[place],), off, known.host)[0]


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
    """`_hosts` of what is given by name, which rarely is a tensor."""
    found = {}
    for name, value in options.items():
        if name == "device":
            found[name] = None if value is None else _CPU
        elif name == "pin_memory":
            found[name] = False
        else:
            found[name] = _hosts((value,), off, host)[0] if isinstance(value, (Tensor, list, tuple)) else value
    return found


def _is_host(device: Any) -> bool:
    return device is not None and device.type == "cpu"


def devices(result: Any, op: Any) -> Any:
    """The same results on the stand-in. Where one cannot be had there, it stays on the CPU, and a warning says so."""
    if isinstance(result, Tensor):
        try:
            return to_device_with_bits(result)
        except Exception as error:
            warn(f"{op}: its result stays on the CPU ({error})")
            return result
    if isinstance(result, tuple | list):
        return type(result)(devices(each, op) for each in result)
    return result
