"""Simple calls, made up from signatures, of the names that PyTorch's operator database does not call."""

import itertools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch_calls import RUNS_BY_DTYPE, Observation, Recorder, seed
from torch_names import OPERATORS
from torch_stubs import Signature

# What a call gets for a required parameter, by the parameter's annotation; None stands for the tensors of a template.
_VALUES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"(list|tuple|Sequence)\[(torch\.)?Tensor", ("tensors",)),
    (r"\bTensor\b", ("tensor",)),
    (r"_size|Sequence\[_int|list\[int", ((0, 1), (3, 3), (1, 1))),
    (r"\b_?int\b", (1, 0, 3)),
    (r"\b_?float\b", (0.5,)),
    (r"Number|number", (0.5, 2)),
    (r"\b_?bool\b", (False, True)),
    (r"dtype", (torch.float64,)),
)

# Names whose call would change the process, need a machine that is not there, or belong to backends' insides.
LEFT_OUT = re.compile(
    r"(set_|cudnn|miopen|mkldnn|fbgemm|quantized_|sym_|init_num|fork|wait|load|save|compile|autocast|sparse_resize|"
    r"record_stream|share_memory|pin_memory|rnn_|lstm|gru|batch_norm_|module_load|manual_seed|seed$|use_deterministic)"
)


def _templates(dtype: torch.dtype) -> Iterator[list[torch.Tensor]]:
    """Tensors to fill the parameters of a call in turn."""
    for shape in ((3, 3), (3,), (1, 2, 4, 4), (1, 3, 3), ()):
        yield [torch.full(shape, 0.5 if dtype.is_floating_point else True, dtype=dtype) for _ in range(6)]
    yield [torch.ones(3, 3, dtype=dtype), *(torch.zeros(3, 3, dtype=torch.int64) for _ in range(5))]
    yield [torch.zeros(3, 3, dtype=torch.int64), *(torch.ones(3, 3, dtype=dtype) for _ in range(5))]


Call = tuple[tuple[Any, ...], dict[str, Any]]


def _given(*args: object, **kwargs: object) -> Call:
    return args, kwargs


def _by_hand(tensor: torch.Tensor) -> dict[str, list[Call]]:
    """Calls whose arguments the annotations do not tell."""
    array = np.ones(3, "float32") if tensor.dtype is torch.bfloat16 else tensor.resolve_conj().numpy()
    values = tensor.tolist()
    sparse, matrix = tensor.to_sparse(), tensor.reshape(-1, 3)
    ends, columns = torch.tensor([0, 1], dtype=torch.int32), torch.tensor([0], dtype=torch.int32)
    positions = torch.zeros_like(tensor.reshape(-1), dtype=torch.int64)
    compressed = torch.sparse_csr_tensor(ends, columns, tensor.reshape(-1)[:1])
    uncoalesced = torch.sparse_coo_tensor(torch.tensor([[0, 0]]), tensor.reshape(-1)[:2], check_invariants=False)
    calls = {
        "torch.tensor": [_given(values), _given([values]), _given(array), _given(tensor)],
        "torch.as_tensor": [_given(values), _given(array), _given(tensor)],
        "torch.asarray": [_given(values), _given(array), _given(tensor)],
        "torch.from_numpy": [_given(array)],
        "torch.from_dlpack": [_given(tensor), _given(array)],
        "torch.frombuffer": [_given(bytearray(8), dtype=tensor.dtype)],
        "torch.Tensor": [_given(2, 3), _given([1.0, 2.0])],
        "torch.nn.Parameter": [_given(tensor)] if tensor.is_floating_point() else [],
        "torch.Tensor.to": [_given(tensor, "cpu"), _given(tensor, tensor), _given(tensor, torch.float32)],
        "torch.Tensor.new_tensor": [_given(tensor, values), _given(tensor, tensor)],
        "torch.Tensor.new": [_given(tensor, 2, 3)],
        "torch.Tensor.__setitem__": [_given(tensor, 0, 1)],
        "torch.Tensor.__getitem__": [_given(tensor, 0), _given(tensor, slice(1)), _given(tensor, tensor != 0)],
        "torch.Tensor.coalesce": [_given(sparse), _given(uncoalesced)],
        "torch.Tensor.indices": [_given(sparse)],
        "torch.Tensor.values": [_given(sparse)],
        "torch.Tensor.crow_indices": [_given(matrix.to_sparse_csr()), _given(compressed)],
        "torch.Tensor.col_indices": [_given(matrix.to_sparse_csr()), _given(compressed)],
        "torch.Tensor.ccol_indices": [_given(matrix.to_sparse_csc()), _given(compressed.t())],
        "torch.Tensor.row_indices": [_given(matrix.to_sparse_csc()), _given(compressed.t())],
        "torch.Tensor.to_dense": [_given(tensor), _given(sparse)],
        "torch.Tensor.sparse_mask": [_given(tensor, sparse)],
        "torch.sparse.sum": [_given(sparse), _given(sparse, 0)],
        # Calls that the database leaves out and that hand the input back, or a view of it.
        "torch.einsum": [_given(equation, torch.ones(2, 2).to(tensor.dtype)) for equation in ("ij->ji", "ij", "ii->i")],
        "torch.dropout": [_given(tensor, 0.5, train) for train in (True, False)],
        "torch.feature_dropout": [_given(tensor, 0.5, train) for train in (True, False)],
        "torch.alpha_dropout": [_given(tensor, 0.5, train) for train in (True, False)],
        "torch.feature_alpha_dropout": [_given(tensor, 0.5, train) for train in (True, False)],
        "torch.nn.functional.dropout1d": [_given(torch.ones(2, 3), 0.5, train) for train in (True, False)],
        "torch.chain_matmul": [_given(tensor), _given(tensor, tensor)],
        "torch.where": [_given(tensor != 0)],
        "torch.bincount": [_given(positions), _given(positions, tensor.reshape(-1))],
        "torch.Tensor.bincount": [_given(positions), _given(positions, tensor.reshape(-1))],
        "torch.Tensor.new_zeros": [_given(tensor, 3), _given(tensor, (2, 3))],
        "torch.sparse.spdiags": [_given(tensor, torch.tensor([0]), (3, 3))],
    }
    for name in "int half char short cdouble".split() if not tensor.is_complex() else ("chalf", "cdouble"):
        calls[f"torch.Tensor.{name}"] = [_given(getattr(tensor, name)())]
    for name in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split():
        calls[f"torch.{name}Tensor"] = [_given(2, 3), _given([1])]
    return calls


def generated_calls(
    recorder: Recorder, overloads: Mapping[str, Sequence[Signature]], enough: Collection[str]
) -> Iterator[Observation]:
    """Calls of every name but those in `enough`, and the calls by hand."""
    values = {name: value for value, name in recorder.names.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in values.items():
            if LEFT_OUT.match(name.rpartition(".")[2]):
                continue
            signatures = [] if name in enough else [s for s in overloads.get(name, ()) if _is_harmless(name, value, s)]
            for dtype, runs in RUNS_BY_DTYPE.items():
                seed()
                for args, kwargs in _calls(signatures, dtype):
                    for run in runs:
                        yield from recorder.call(value, run, args, kwargs)
        for dtype, runs in RUNS_BY_DTYPE.items():
            seed()
            for template in itertools.islice(_templates(dtype), 2):
                for name, calls in _by_hand(template[0]).items():
                    for (args, kwargs), run in itertools.product(calls, runs):
                        yield from recorder.call(values[name], run, args, kwargs)


def _calls(overloads: Sequence[Signature], dtype: torch.dtype) -> Iterator[Call]:
    for overload in overloads:
        if not any("Tensor" in text for text in (*overload.annotations, overload.returns)):
            continue
        pools = [_pool(annotation) for _, annotation in overload.required]
        if not all(pools):
            continue
        for chosen in itertools.product(*pools):
            for template in _templates(dtype):
                yield _filled(overload, chosen, template)
                if "tensor" not in chosen and "tensors" not in chosen:
                    break


def _is_harmless(name: str, value: Callable[..., Any], signature: Signature) -> bool:
    """What has no docstring may be an inside of torch that trusts its arguments: a wrong one can corrupt memory."""
    return bool(value.__doc__) or name.rpartition(".")[2] in OPERATORS or len(signature.required) <= 1


def _pool(annotation: str) -> tuple[Any, ...]:
    return next((values for pattern, values in _VALUES if re.search(pattern, annotation)), ())


def _filled(overload: Signature, chosen: Sequence[Any], template: Sequence[torch.Tensor]) -> Call:
    tensors = itertools.cycle(template)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for (parameter, _), value in zip(overload.required, chosen, strict=True):
        given = next(tensors) if value == "tensor" else [next(tensors), next(tensors)] if value == "tensors" else value
        if parameter.endswith("="):
            kwargs[parameter[:-1]] = given
        else:
            args.append(given)
    return tuple(args), kwargs
