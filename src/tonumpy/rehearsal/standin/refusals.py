"""Refusals of a kind of device beside tensors of another one, in torch's words: dtypes, and products of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.marks import STATE, is_pretended, mark_of, tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

_DOUBLES = {
    torch.float64: "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
    " Please use float32 instead.",
    torch.complex128: "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",
}
# Products that CUDA has for no integers.
_PRODUCTS = frozenset(
    "matmul __matmul__ __rmatmul__ mm bmm mv dot vdot addmm addmm_ baddbmm baddbmm_ addmv linear einsum inner".split()
)
_INTEGERS = frozenset((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool))


def check_dtype(tensor: Any) -> None:
    """Raise TypeError for a tensor of a dtype that its device has not."""
    if STATE.kind == "mps" and isinstance(tensor, torch.Tensor) and tensor.dtype in _DOUBLES and is_pretended(tensor):
        raise TypeError(_DOUBLES[tensor.dtype])


def refusing(name: str, function: Function) -> Function:
    """The function, which refuses what the kind of device refuses."""
    if name == "_pack_padded_sequence":
        return _with_lengths_on_cpu(function)
    if STATE.kind == "cuda" and name in _PRODUCTS:
        return _without_integers(name, function)
    return _without_doubles(function) if STATE.kind == "mps" else function


def _with_lengths_on_cpu(function: Function) -> Function:
    def packed(data: Any, lengths: Any, *args: Any) -> Any:
        mark = mark_of(lengths)
        if mark.pretended:
            found = f"{lengths.dim()}D {mark.place} {_word_of(lengths)} tensor"
            raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {found}")
        return function(data, lengths, *args)

    return packed


def _without_integers(name: str, function: Function) -> Function:
    def product(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args and isinstance(args[0], torch.Tensor) else next(iter(tensors_in(args)), None)
        if first is not None and first.dtype in _INTEGERS and is_pretended(first):
            raise NotImplementedError(f"\"{name.strip('_')}\" not implemented for '{_word_of(first)}'")
        return function(*args, **kwargs)

    return product


def _word_of(tensor: Any) -> str:
    """ "Long" of an int64, as torch's messages have it."""
    return str(tensor.cpu().type()).removeprefix("torch.").removesuffix("Tensor")


def _without_doubles(function: Function) -> Function:
    def single(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        made = [each for each in tensors_in((result,)) if each.dtype in _DOUBLES]
        if made and any(map(is_pretended, tensors_in((args, kwargs)))):
            raise TypeError(_DOUBLES[made[0].dtype])
        return result

    return single
