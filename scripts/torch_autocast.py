"""Which operations `torch.autocast` makes wide on the CPU: they give float32 of what is bfloat16."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch_calls import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SAMPLES = 12  # of an operator: the operator decides, and hardly ever its arguments


def widened() -> tuple[str, ...]:
    """The last names of operators and of the layers of torch.nn that are wide for one sample at least."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(sorted({name for names, call in _calls() if _is_widened(call) for name in names}))


def _calls() -> Iterator[tuple[tuple[str, ...], Callable[[], object]]]:
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for entry in op_db:
        names = tuple(each.name.rpartition(".")[2] for each in (entry, *entry.aliases))
        dtype = next((each for each in (torch.bfloat16, torch.float32) if each in entry.dtypes), None)
        if dtype is None:
            continue
        seed()
        for sample in itertools.islice(entry.sample_inputs("cpu", dtype), _SAMPLES):  # type: ignore[no-untyped-call]
            args, kwargs = _narrowed(((sample.input, *sample.args), sample.kwargs))
            yield names, lambda op=entry.op, args=args, kwargs=kwargs: op(*args, **kwargs)
    for entry in module_db:
        seed()
        for sample in entry.module_inputs_func(
            entry, device="cpu", dtype=torch.float32, requires_grad=False, training=True
        ):
            if sample.forward_input is not None:
                module = entry.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
                args, kwargs = _narrowed((sample.forward_input.args, sample.forward_input.kwargs))
                yield (
                    (entry.module_cls.__name__,),
                    lambda module=module, args=args, kwargs=kwargs: module(*args, **kwargs),
                )


def _narrowed(values: Any) -> Any:  # noqa: ANN401
    return tree_map(lambda leaf: leaf.detach().bfloat16() if _is_floating(leaf) else leaf, values)


def _is_widened(call: Callable[[], object]) -> bool:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        dtypes = _dtypes(call)
    return torch.float32 in dtypes and torch.float32 not in _dtypes(call)


def _dtypes(call: Callable[[], object]) -> set[torch.dtype]:
    try:
        return {leaf.dtype for leaf in tree_leaves(call()) if _is_floating(leaf)}
    except (RuntimeError, NotImplementedError, ValueError, TypeError, AssertionError, IndexError):
        return set()


def _is_floating(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
