"""The kernels of the stand-in, registered with torch's dispatcher under the key of the accelerator, and taken back."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import kernels, special
from tonumpy.rehearsal.standin.copies import MAY_WAIT, WAITS
from tonumpy.rehearsal.standin.factories import drawn_from
from tonumpy.rehearsal.standin.mixing import INDEXING, TAKES_HOST, TAKES_NO_SCALAR
from tonumpy.rehearsal.standin.refusals import refusing
from tonumpy.rehearsal.standin.several import placing

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.copies import Copies
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

_has = torch._C._dispatch_has_kernel_for_dispatch_key
_COMPOSED = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")

# They give what they are given, or part of it, and their schemas do not say so.
_GIVES_ITS_ARGUMENT = frozenset({"aten::_unsafe_view", "aten::lift", "aten::_reshape_copy", "aten::_lazy_clone"})
# They read one number, wherever it lies.
_READS_A_NUMBER = frozenset({"aten::_local_scalar_dense"})
# They call others that torch.jit.trace records in their place.
_IS_TRACED_INSIDE = frozenset({"aten::convolution"})


def register(patches: Patches, key: str, names: Names, mixed: kernels.Mixed, copies: Copies) -> None:
    """Make torch compute on the stand-in until `patches` are restored.

    Tensors for the device of dispatch key `key` are made there.
    """
    rest = torch.library.Library("_", "IMPL")
    patches.on_exit(rest._destroy)
    aten = torch.library.Library("aten", "IMPL")
    patches.on_exit(aten._destroy)
    for library in (rest, aten):
        _keep_at_exit(library)
    kind, is_one = names.kind, names.count == 1
    computed = _Rest(mixed, key)
    rest.m.fallback("MAIA", computed if is_one else placing(None, computed, mixed), False)
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::"):
            op = _operator(name)
            kernel = None if op is None else _kernel(name, op, mixed)
            if kernel is not None and (name in WAITS or name in MAY_WAIT):
                kernel = copies.waits(name, kernel)
            if kernel is not None:
                kernel = refusing(name, op, kernel, kind, drawn_from)
                if not is_one and not _is_in_place_of_memory(name, op):
                    kernel = placing(op, kernel, mixed)
                aten.m.impl(name[len("aten::") :], "MAIA", kernel, False)
                if _is_factory(op):
                    aten.m.impl(name[len("aten::") :], key, kernel, False)
    _follow(patches, key)
    for name, kernel in special.COMPOSED.items():
        placed = kernel if is_one else placing(_operator(name), kernel, mixed)
        aten.m.impl(name[len("aten::") :], "MAIA", placed, False)


def _keep_at_exit(library: Any) -> None:
    """Torch would take it apart among the `atexit` functions, and the program may need it in later ones."""
    for each in weakref.finalize._registry.values():  # type: ignore[attr-defined]
        if each.weakref() is library:
            each.atexit = False


def _follow(patches: Patches, key: str) -> None:
    """What a program registers for its device is for the stand-in, too."""
    impl = torch.library.Library.impl

    @functools.wraps(impl)
    def both(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        result = impl(self, op_name, fn, dispatch_key, **options)
        if dispatch_key == key:
            impl(self, op_name, fn, "MAIA", **options)
        return result

    patches.replace(torch.library.Library, "impl", both)


class _Rest:
    """Computes the operators that nobody thought of."""

    def __init__(self, mixed: kernels.Mixed, key: str) -> None:
        self._mixed = mixed
        self._key = key
        self._made: dict[Any, kernels.Kernel] = {}

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        if op not in self._made:
            self._made[op] = kernels.computed(op, self._mixed)
        try:
            return self._made[op](*args, **kwargs)
        except NotImplementedError as error:  # the CPU has no kernel either; torch goes on to list those that have one
            said = str(error).partition("If you are a Facebook employee")[0].strip()
            raise NotImplementedError(said.replace("'CPU' backend", f"'{self._key}' backend")) from None


def _operator(name: str) -> Any:
    base, _, overload = name[len("aten::") :].partition(".")
    return getattr(getattr(torch.ops.aten, base, None), overload or "default", None)


def _kernel(name: str, op: Any, mixed: kernels.Mixed) -> kernels.Kernel | None:
    """None: torch's own kernel for all devices does it."""
    if name in special.KERNELS:
        return special.KERNELS[name]
    is_for_host = _has(name, "CPU")
    if not is_for_host and not any(_has(name, key) for key in _COMPOSED):
        return None
    if name in _GIVES_ITS_ARGUMENT or name in _IS_TRACED_INSIDE:
        return None
    if name in _READS_A_NUMBER or _is_view(op) or torch.Tag.inplace_view in op.tags:
        return kernels.as_is(op) if is_for_host else None
    if name in TAKES_HOST and name not in INDEXING:
        mixed = _takes_all
    kernel = kernels.computed(op, mixed, sees_bits=_has(name, "Conjugate") or _has(name, "Negative"))
    if name == "aten::_to_copy":
        return special.copied(op, kernel)
    return kernels.strict(op, kernel, mixed) if name in TAKES_NO_SCALAR else kernel


def _takes_all(op: Any, off: Any, given: Any) -> None:
    """Nothing is refused, whatever lies on the CPU."""


def _is_factory(op: Any) -> bool:
    arguments = op._schema.arguments
    return any(each.name == "device" for each in arguments) and not any(
        "Tensor" in str(each.type) for each in arguments
    )


def _is_in_place_of_memory(name: str, op: Any) -> bool:
    """Whether it only reads or changes where in its memory a tensor lies."""
    return name not in special.KERNELS and (_is_view(op) or torch.Tag.inplace_view in op.tags)


def _is_view(op: Any) -> bool:
    return any(each.alias_info is not None and not each.alias_info.is_write for each in op._schema.arguments)
