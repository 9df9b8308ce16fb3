"""What a device refuses beside tensors of another one: generators, dtypes and numbers of devices, in torch's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.kernels import tensors_in
from tonumpy.rehearsal.standin.mps_lacks import without
from tonumpy.rehearsal.standin.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.kernels import Kernel

_NO_DOUBLE = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
    " Please use float32 instead."
)
_NO_COMPLEX = "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype."
_DOUBLES = {torch.float64: _NO_DOUBLE, torch.complex128: _NO_COMPLEX}
# Products that CUDA has for no integers, by the names of its functions there.
_PRODUCTS = {
    "aten::mm": "addmm_cuda",
    "aten::addmm": "addmm_cuda",
    "aten::addmm_": "addmm_cuda",
    "aten::bmm": "baddbmm_cuda",
    "aten::baddbmm": "baddbmm_cuda",
    "aten::baddbmm_": "baddbmm_cuda",
    "aten::mv": "addmv_impl_cuda",
    "aten::addmv": "addmv_impl_cuda",
    "aten::dot": "dot",
    "aten::vdot": "vdot",
}
_WORDS = {
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


def ordinal(kind: str) -> Exception:
    """The error for the number of a device that is not there."""
    error = getattr(torch, "AcceleratorError", RuntimeError) if kind == "cuda" else RuntimeError
    text = f"{kind.upper()} error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
    return refusal(error, text)


def of_generator(expected: str, found: str) -> Exception:
    """The error for a generator of another device."""
    return refusal(RuntimeError, f"Expected a '{expected}' device type for generator but found '{found}'")


def refusing(name: str, op: Any, kernel: Kernel, kind: str, drawn_from: Callable[[Any], Any]) -> Kernel:
    """The kernel of an operator, which refuses what a device of this kind does. `drawn_from` gives what it draws from
    for a generator, and None for one that is not its own."""
    if kind == "cuda" and name in _PRODUCTS:
        return _without_integers(_PRODUCTS[name], kernel)
    places = [place for place, each in enumerate(op._schema.arguments) if each.name == "generator"]
    if places:
        kernel = _with_its_generator(places[0], kernel, kind, drawn_from)
    return _without_doubles(without(name, kernel)) if kind == "mps" else kernel


def _without_integers(function: str, kernel: Kernel) -> Kernel:
    def product(*args: Any, **kwargs: Any) -> Any:
        word = _WORDS.get(args[0].dtype)
        if word is not None:
            raise refusal(NotImplementedError, f"\"{function}\" not implemented for '{word}'")
        return kernel(*args, **kwargs)

    return product


def _with_its_generator(place: int, kernel: Kernel, kind: str, drawn_from: Callable[[Any], Any]) -> Kernel:
    def drawn(*args: Any, **kwargs: Any) -> Any:
        generator = args[place] if place < len(args) else kwargs.get("generator")
        if generator is None:
            return kernel(*args, **kwargs)
        source = drawn_from(generator)
        if source is None:
            raise of_generator(kind, "cpu")
        if source is not generator and place < len(args):
            args = (*args[:place], source, *args[place + 1 :])
        elif source is not generator:
            kwargs["generator"] = source
        return kernel(*args, **kwargs)

    return drawn


def _without_doubles(kernel: Kernel) -> Kernel:
    def single(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        for each in tensors_in((result,)):
            if each.is_maia and each.dtype in _DOUBLES:
                raise refusal(TypeError, _DOUBLES[each.dtype])
        return result

    return single
