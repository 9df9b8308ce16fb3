"""Calls public names of torch with the samples of PyTorch's operator database, and records what each call did."""

import collections
import contextlib
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils._pytree import tree_map
from torch_names import OPERATORS, canonical_names, public_attributes

# How the tensors that a sample brings are changed before the call.
#   plain      as they are
#   grad       every floating point tensor requires grad;  first, rest: only the first one, all but the first one
#   meta       on the meta device
#   strided    the same values with other strides, and with the conjugate or negative bit set
#   promoted   every tensor and number but the first tensor of a larger dtype;  promoted last, promoted numbers: only
# and what is asked of the call besides:
#   default device   the default device is meta;  default dtype: it is float64
#   device=, dtype=, requires_grad=, inplace=   given as keywords: meta, float64, True, True
Run = str
_PROBES: tuple[Run, ...] = ("default device", "default dtype", "device=", "dtype=", "requires_grad=", "inplace=")
_PROMOTED: tuple[Run, ...] = ("promoted", "promoted last", "promoted numbers")
RUNS_BY_DTYPE: dict[torch.dtype, tuple[Run, ...]] = {
    torch.float32: ("plain", "grad", "first", "rest", "meta", "strided", *_PROMOTED, *_PROBES),
    torch.float64: ("plain", "grad"),
    torch.complex64: ("plain", "grad", "meta", "strided"),
    torch.bfloat16: ("plain",),
    torch.int64: ("plain", "meta", *_PROMOTED),
    torch.uint8: ("plain",),
    torch.bool: ("plain", *_PROMOTED),
}


class Output(NamedTuple):
    """One value that a call returned. `shares` and `is_input` speak of the tensors (and arrays) that were given.

    `is_reduced`: it has no dimensions, although every tensor that was given has some.
    """

    kind: str
    device: str = ""
    requires_grad: bool = False
    dtype: str = ""
    shares: bool = False
    is_input: bool = False
    is_reduced: bool = False


class Observation(NamedTuple):
    """One call. `container` is "" for a single value; `given` tells which arguments there were, by position or name.

    `dtypes` are those of the floating point and complex tensors that were given, by the place where they were.
    """

    name: str
    run: Run
    container: str
    fields: tuple[str, ...]
    outputs: tuple[Output, ...]
    first_dtype: str
    input_devices: tuple[str, ...]
    inputs_require_grad: bool
    given: tuple[tuple[int | str, str], ...]
    written: tuple[int | str, ...]
    dtypes: tuple[tuple[int | str, str], ...]


class Recorder:
    """Runs calls and keeps what they did."""

    def __init__(self) -> None:
        self.names, _ = canonical_names()
        self.symbolic: collections.Counter[str] = collections.Counter()
        self.refusals: collections.Counter[tuple[str, Run]] = collections.Counter()

    def call(
        self, value: Callable[..., Any], run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[Observation]:
        """What a call did: under the name of the callable, else under those of the public functions that it calls."""
        name = self.names.get(value)
        args, kwargs = changed(run, args, kwargs, in_place=is_in_place(name or ""))
        if name is not None:
            if self.refusals[name, run] < _TRIES:
                try:
                    with _asked(run):
                        yield observe(name, run, value, args, kwargs)[0]
                except Exception:
                    if run == "meta" and self.symbolic[name] < _TRIES:
                        self.symbolic[name] += 1
                        with contextlib.suppress(Exception):
                            yield _observe_symbolically(name, value, args, kwargs)
                    if run.endswith("="):  # a function that does not know a keyword will not learn it
                        self.refusals[name, run] += 1
        elif not run.endswith("="):
            listener = _Listener(self.names, run)
            with contextlib.suppress(Exception), _asked(run), listener:
                value(*args, **kwargs)
            yield from listener.heard


# A function whose result's shape depends on the data fails on the meta device. torch's compiler knows how to go on with
# an unknown shape; that is slow, and a few calls tell as much as many.
_TRIES = 20
for _chatty in ("torch._subclasses.fake_tensor", "torch.fx._symbolic_trace"):
    logging.getLogger(_chatty).setLevel(logging.CRITICAL)  # they tell of each call that cannot be made


def _observe_symbolically(
    name: str, value: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Observation:
    with FakeTensorMode(shape_env=ShapeEnv()):
        fake_args, fake_kwargs = tree_map(
            lambda leaf: (
                torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device="meta")
                if isinstance(leaf, torch.Tensor)
                else leaf
            ),
            (args, kwargs),
        )
        return observe(name, "meta", value, fake_args, fake_kwargs)[0]


class _Listener(TorchFunctionMode):
    """Hears the public functions that a wrapper calls."""

    def __init__(self, names: dict[Any, str], run: Run) -> None:
        super().__init__()
        self.names, self.run, self.heard = names, run, list[Observation]()

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:  # noqa: ANN401
        name = self.names.get(func)
        if name is None:
            return func(*args, **(kwargs or {}))
        observation, result = observe(name, self.run, func, args, kwargs or {})
        self.heard.append(observation)
        return result


_LEAVES = (torch.Tensor, np.ndarray, bool, int, float, str, type(None))


def mapped(function: Callable[[Any], object], value: Any) -> Any:  # noqa: ANN401
    """Return what torch's own `tree_map` gives, which takes several times as long for the everyday containers."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([mapped(function, each) for each in value])
    if kind is dict:
        return {key: mapped(function, each) for key, each in value.items()}
    return function(value) if isinstance(value, _LEAVES) else tree_map(function, value)


def leaves(value: object) -> list[Any]:
    found: list[Any] = []
    mapped(found.append, value)
    return found


def is_in_place(name: str) -> bool:
    last = name.rpartition(".")[2]
    in_place_operator = (
        last in OPERATORS and last.startswith("__i") and last not in ("__int__", "__invert__", "__index__", "__iter__")
    )
    return in_place_operator or (last.endswith("_") and not last.endswith("__")) or last == "__setitem__"


def observe(
    name: str, run: Run, value: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Observation, Any]:
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    found = [(place, leaf) for place, argument in places for leaf in leaves(argument)]
    placed = [(place, leaf) for place, leaf in found if isinstance(leaf, torch.Tensor)]
    tensors = [tensor for _, tensor in placed]
    versions = [_version(tensor) for tensor in tensors]
    before = _before(name, run, tuple((place, _description(argument)) for place, argument in places), placed)
    memory = {_memory(leaf) for _, leaf in found if isinstance(leaf, (torch.Tensor, np.ndarray))}
    has_dimensions = bool(tensors) and all(tensor.ndim for tensor in tensors)
    result = value(*args, **kwargs)
    container, fields, values = _unpacked(result)
    outputs = tuple(_output(each, tensors, memory, has_dimensions) for each in values)
    written = (place for (place, tensor), old in zip(placed, versions, strict=True) if _version(tensor) != old)
    seen = before._replace(container=container, fields=fields, outputs=outputs, written=tuple(dict.fromkeys(written)))
    return seen, result


def _before(
    name: str, run: Run, given: tuple[tuple[int | str, str], ...], placed: list[tuple[int | str, torch.Tensor]]
) -> Observation:
    """What is known of a call before it is made; `placed` are the tensors with their places."""
    tensors = [tensor for _, tensor in placed]
    first = str(tensors[0].dtype) if tensors else ""
    devices = tuple(sorted({t.device.type for t in tensors}))
    require = any(t.requires_grad for t in tensors)
    dtypes = ((place, str(t.dtype)) for place, t in placed if t.is_floating_point() or t.is_complex())
    return Observation(name, run, "", (), (), first, devices, require, given, (), tuple(dict.fromkeys(dtypes)))


def _output(value: object, tensors: list[torch.Tensor], memory: set[int], has_dimensions: bool) -> Output:
    """A value that a call returned; `memory` is that of what was given, `tensors` among it."""
    if isinstance(value, torch.Tensor):
        is_input, is_reduced = any(value is each for each in tensors), has_dimensions and value.ndim == 0
        about = (value.device.type, value.requires_grad, str(value.dtype), _memory(value) in memory)
        return Output("tensor", *about, is_input, is_reduced)
    if isinstance(value, np.ndarray):
        return Output("array", dtype=str(value.dtype), shares=_memory(value) in memory)
    return Output(_PYTHON_KINDS.get(type(value), "object"))


# The Python values that are told apart; a symbolic number stands for a real one.
_PYTHON_KINDS: dict[type, str] = {
    **{
        kind: kind.__name__
        for kind in (bool, int, float, complex, str, list, tuple, torch.Size, torch.device, torch.dtype)
    },
    torch.layout: "layout",
    type(None): "NoneType",
    torch.SymBool: "bool",
    torch.SymInt: "int",
    torch.SymFloat: "float",
}


def _unpacked(result: object) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
    if not isinstance(result, (tuple, list)) or not any(isinstance(each, torch.Tensor) for each in result):
        return "", (), (result,)
    fields = getattr(result, "_fields", ())
    if not fields and type(result).__module__ == "torch.return_types":
        fields = tuple(getattr(type(result), "__match_args__", ()))
    return "list" if isinstance(result, list) else "tuple", tuple(fields), tuple(result)


def _description(argument: object) -> str:
    if isinstance(argument, (bool, type(None))):
        return str(argument)
    if isinstance(argument, torch.Tensor):
        if not argument.is_floating_point() and not argument.is_complex():
            return "integral tensor"
        return "tensor with grad" if argument.requires_grad else "tensor"
    return type(argument).__name__


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _memory(value: torch.Tensor | np.ndarray[Any, Any]) -> int:
    """Return what identifies the memory of a value; an array is identified as the CPU tensor would be."""
    if isinstance(value, np.ndarray):
        return int(value.__array_interface__["data"][0])
    if value.layout is not torch.strided:
        return id(value)
    if value.device.type == "cpu":
        return value.untyped_storage().data_ptr() or -value.untyped_storage()._cdata
    return int(value.untyped_storage()._cdata)


_WIDER = {
    torch.bool: torch.float32,
    torch.uint8: torch.float32,
    torch.int64: torch.float32,
    torch.float32: torch.complex128,
}


def changed(
    run: Run, args: tuple[Any, ...], kwargs: dict[str, Any], *, in_place: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    seen = 0
    count = sum(isinstance(leaf, torch.Tensor) for leaf in leaves((args, kwargs)))

    def change(leaf: object) -> object:
        nonlocal seen
        if not isinstance(leaf, torch.Tensor):
            if run in ("promoted", "promoted numbers") and isinstance(leaf, int) and not isinstance(leaf, bool):
                return leaf + 0.5
            return leaf
        seen += 1
        leaf = leaf.detach()
        differentiable = leaf.is_floating_point() or leaf.is_complex()
        if run == "meta":
            leaf = leaf.to("meta")
        elif run == "strided" and leaf.layout is torch.strided:
            if leaf.ndim >= 2 and leaf.numel():
                leaf = leaf.transpose(0, -1).contiguous().transpose(0, -1)
            elif leaf.ndim == 1 and leaf.numel():
                leaf = torch.stack([leaf, leaf], 1)[:, 0]
            if leaf.is_complex():
                leaf = leaf.conj().resolve_conj().conj()
            elif leaf.is_floating_point():
                leaf = torch._neg_view(leaf.neg())
        elif seen > 1 and (run == "promoted" or (run == "promoted last" and seen == count)):
            leaf = leaf.to(_WIDER.get(leaf.dtype, leaf.dtype))
        elif differentiable and (run == "grad" or (run == "first" and seen == 1) or (run == "rest" and seen > 1)):
            leaf = leaf.detach().requires_grad_()
        return leaf.clone() if in_place or run == "inplace=" else leaf

    kwargs = {key: v for key, v in kwargs.items() if key not in ("device", "requires_grad", "inplace")}
    args, kwargs = mapped(change, (args, kwargs))
    if run.endswith("="):
        kwargs[run[:-1]] = _ASKED[run]
    return args, kwargs


_ASKED: dict[Run, Any] = {"device=": "meta", "dtype=": torch.float64, "requires_grad=": True, "inplace=": True}


@contextlib.contextmanager
def _asked(run: Run) -> Iterator[None]:
    if run == "default device":
        with torch.device("meta"):
            yield
    elif run == "default dtype":
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)
    else:
        yield


def database_calls(recorder: Recorder) -> Iterator[Observation]:
    """Every sample of every entry of PyTorch's operator database, with its method, in-place and operator variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db

        by_last = collections.defaultdict(list)
        for value, name in recorder.names.items():
            by_last[name.rpartition(".")[2]].append(value)
        for entry in op_db:
            variants = _variants(entry, by_last)
            for dtype, runs in RUNS_BY_DTYPE.items():
                if dtype not in entry.dtypes:
                    continue
                seed()
                for sample in entry.sample_inputs("cpu", dtype, requires_grad=False):  # type: ignore[no-untyped-call]
                    args, kwargs = (sample.input, *sample.args), sample.kwargs
                    for value in variants:
                        for run in runs:
                            yield from recorder.call(value, run, args, kwargs)


def _variants(entry: OpInfo, by_last: dict[str, list[Callable[..., Any]]]) -> list[Callable[..., Any]]:
    """The variants that the entry names, and the public callables of the same last name: its samples may fit them."""
    found: list[Callable[..., Any] | None] = [entry.op, entry.method_variant, entry.inplace_variant]
    for operator in (entry.operator_variant, entry.inplace_operator_variant):
        if operator is not None:
            found.append(getattr(torch.Tensor, f"__{operator.__name__}__", None))
    for alias in entry.aliases:
        found += [alias.op, alias.method_variant, alias.inplace_variant]
    last = entry.name.rpartition(".")[2]
    found += [*by_last[last], *by_last[f"{last}_"]]
    return [value for value in dict.fromkeys(found) if value is not None]


def seed() -> None:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def attribute_reads() -> Iterator[Observation]:
    """Every attribute of tensors of several dtypes, shapes and histories, named like a method: `torch.Tensor.T`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some attributes are deprecated, others warn for more than two dimensions
        for dtype, runs in RUNS_BY_DTYPE.items():
            for shape in ((), (3,), (2, 3), (2, 3, 4)):
                for name in public_attributes():
                    for run in (run for run in runs if not run.endswith("=")):
                        seed()
                        (tensor,), _ = changed(run, (torch.ones(shape, dtype=dtype),), {}, in_place=False)
                        for history in _histories(tensor):
                            with contextlib.suppress(Exception), _asked(run):
                                yield observe(f"torch.Tensor.{name}", run, attrgetter(name), (history,), {})[0]


def _histories(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor itself; where it requires grad also with a `.grad`, and with one that can itself be differentiated."""
    if tensor.is_meta and tensor.is_floating_point():
        tensor.grad = torch.zeros_like(tensor)
    yield tensor
    if tensor.requires_grad and not tensor.is_complex():
        for differentiable in (False, True):
            leaf = tensor.detach().clone().requires_grad_()
            (leaf**2).sum().backward(create_graph=differentiable)  # type: ignore[no-untyped-call]
            yield leaf
            yield leaf * 2
            leaf.grad = None  # otherwise the graph and the leaf keep each other alive
