"""Sparse tensors of the stand-in: each holds one on the CPU, and what is done with it is done there.

C++ has no sparse tensors on the kind of device that the stand-in is, so these are a subclass. Moves from and to the CPU
are torch's own, so that gradients pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import torchscript
from tonumpy.rehearsal.standin.memory import inner_at, is_inner, number_of, to_host
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_CPU = torch.device("cpu")
_FACTORIES = (
    "sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor"
).split()
_METHODS = "to_sparse to_sparse_coo to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_mask".split()
_ANSWERS = {"is_maia": True, "is_cpu": False}


class SparseTensor(torch.Tensor):  # type: ignore[misc]
    """A sparse tensor of the stand-in."""

    held: Any
    there: Any  # the device, in C++'s words

    @staticmethod
    def __new__(cls: Any, held: Any, there: Any = None) -> Any:
        """`held` is the tensor on the CPU."""
        there = there or inner_at(None)
        made = Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=there)
        made.held, made.there = held, there
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Whatever is done with such a tensor."""
        del types
        kwargs = kwargs or {}
        asked = getattr(getattr(func, "__self__", None), "__name__", "") if func.__name__ == "__get__" else ""
        if asked in _ANSWERS:
            return _ANSWERS[asked]
        if asked == "device":
            return args[0].there
        with torch._C.DisableTorchFunctionSubclass():
            known: dict[int, Any] = {}
            if func is torch.autograd.grad or func is torch.autograd.backward:
                return _devices(func(*_held(args), **_held(kwargs)), known)
            result = func(*_hosts(args, known), **_hosts(kwargs, known))
        if func.__name__ == "__repr__":
            return result.replace("size=(", f"device='{args[0].device}', size=(", 1)
        try:
            return result if _is_to_cpu(func, args, kwargs) else _devices(result, known)
        except Exception as problem:
            warn(f"{func.__name__}: its result stays on the CPU ({type(problem).__name__}: {problem})")
            return result

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What C++ does with one that it was handed."""
        del types
        known: dict[int, Any] = {}
        return _devices(func(*_hosts(args, known), **_hosts(kwargs or {}, known)), known)


def wrapped(tensor: Any, there: Any = None) -> Any:
    """A sparse tensor on the CPU as one of the stand-in, on this device or the current one."""
    return SparseTensor(tensor, there)


def patch(patches: Patches, outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> None:
    """Make sparse tensors of the stand-in until `patches` are restored."""
    checks = torch.sparse.check_sparse_tensor_invariants
    if not checks.is_enabled():
        checks.disable()  # they are, and torch would warn that nobody has said so
    patches.replace(SparseTensor, "device", property(lambda self: outer(self.there)))
    for name in _FACTORIES:
        torchscript.replace(patches, name, _factory(getattr(torch, name), inner))
    for name in _METHODS:
        if hasattr(Tensor, name):
            patches.replace(Tensor, name, _method(getattr(Tensor, name)))


def _factory(function: Callable[..., Any], inner: Callable[[Any], Any]) -> Callable[..., Any]:
    def factory(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None:
            is_here = any(isinstance(each, Tensor) and each.is_maia for each in (*args, *kwargs.values()))
        else:
            is_here = is_inner(inner(device))
        if not is_here:
            return function(*args, **kwargs)
        there = inner(device) if device is not None else None
        return wrapped(function(*_hosts(args, {}), **_hosts(kwargs, {}) | {"device": "cpu"}), there)

    factory.__name__ = factory.__qualname__ = function.__name__
    return factory


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.is_maia or isinstance(self, SparseTensor):
            return function(self, *args, **kwargs)
        return wrapped(function(self.cpu(), *map(_host, args), **kwargs), inner_at(number_of(self)))

    method.__name__ = function.__name__
    method.__qualname__ = f"Tensor.{function.__name__}"
    return method


def _host(value: Any, known: dict[int, Any] | None = None) -> Any:
    if isinstance(value, SparseTensor):
        if known is not None:
            known[id(value.held)] = value
        return value.held
    if isinstance(value, Tensor) and value.is_maia:
        # Where a gradient is wanted it must find its way back; elsewhere the same memory lets writes arrive.
        return value.cpu() if value.requires_grad and torch.is_grad_enabled() else to_host(value.detach())
    if isinstance(value, torch.device):
        return _CPU if is_inner(value) else value
    return value


def _hosts(values: Any, known: dict[int, Any]) -> Any:
    if isinstance(values, dict):
        return {key: _hosts(each, known) for key, each in values.items()}
    if type(values) in (tuple, list):
        return type(values)(_hosts(each, known) for each in values)
    return _host(values, known)


def _held(values: Any) -> Any:
    """The same with the sparse tensors on the CPU, and all others where they are: the graph leads to them."""
    if isinstance(values, dict):
        return {key: _held(each) for key, each in values.items()}
    if type(values) in (tuple, list):
        return type(values)(_held(each) for each in values)
    return values.held if isinstance(values, SparseTensor) else values


def _devices(result: Any, known: dict[int, Any]) -> Any:
    """A result on the device of what it was made of; what is `known` by its tensor on the CPU as itself."""
    return _moved(result, known, next((each.there for each in known.values()), None) or inner_at(None))


def _moved(result: Any, known: dict[int, Any], there: Any) -> Any:
    if id(result) in known:
        return known[id(result)]
    if isinstance(result, Tensor):
        if isinstance(result, SparseTensor) or not result.is_cpu:
            return result
        return result.to(there) if result.layout is torch.strided else wrapped(result, there)
    if isinstance(result, tuple | list):
        made = [_moved(each, known, there) for each in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def _is_to_cpu(func: Any, args: Any, kwargs: Any) -> bool:
    if func.__name__ == "cpu":
        return True
    if func.__name__ != "to":
        return False
    wanted = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.device | str)]
    like = [each for each in args[1:] if isinstance(each, Tensor)]
    return any(torch.device(each).type == "cpu" for each in wanted) or any(each.is_cpu for each in like)
