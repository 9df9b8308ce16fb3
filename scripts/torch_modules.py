"""What the layers of torch.nn return, and what the members of torch.distributions do, found by calling them."""

from __future__ import annotations

import copy
import inspect
import itertools
import typing
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import torch
from torch import distributions
from torch.utils._pytree import tree_leaves, tree_map
from torch_calls import Observation, Run, changed, observe, seed

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ModuleClaims(NamedTuple):
    """What calling a layer returns ("tensor" or "tuple"), and whether it has parameters. None: not known, or either.

    `reduces`: what it returns may have no dimensions, as the value of a loss, though what it is given has some.
    `dtype`: that of its parameters ("self"), or that of what it is given ("inputs").
    """

    returns: str | None
    has_parameters: bool | None
    reduces: bool | None = None
    dtype: str | None = None


def modules() -> dict[str, ModuleClaims]:
    """Every public class of torch.nn that is a module."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are deprecated, some warn of their own defaults
        measured = _measured_modules()
        for name in sorted(dir(torch.nn)):
            value = getattr(torch.nn, name)
            if inspect.isclass(value) and issubclass(value, torch.nn.Module) and not name.startswith("_"):
                told = measured.get(value) or ModuleClaims(
                    _annotated(value), _made_plainly(value), dtype=_dtype_of_plain(value)
                )
                found[f"torch.nn.{name}"] = told
    return found


def _made_plainly(module: type[torch.nn.Module]) -> bool | None:
    """True if the layer has parameters, where it can be made with ones for the arguments that it needs.

    Its forward must be its own, and it must not be made around another module, as DataParallel is. Of one that needs
    arguments and has parameters, another may leave these out.
    """
    if module.forward is torch.nn.Module.forward or module.__module__.startswith("torch.nn.parallel."):
        return None
    parameters = inspect.signature(module).parameters.values()
    is_needed = [each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters]
    try:
        has_parameters = any(True for _ in module(*[1] * sum(is_needed)).parameters())
    except (AssertionError, TypeError, RuntimeError, ValueError):
        return None
    return None if has_parameters and any(is_needed) else has_parameters


def _dtype_of_plain(module: type[torch.nn.Module]) -> str | None:
    """Return what is made without arguments, and takes one tensor."""
    seen: set[_Dtypes] = set()
    try:
        made = module()
        for shape in ((2, 4), (2, 4, 4), (2, 4, 4, 4)):
            seen.update(_dtypes(made, (torch.ones(shape),), {}))
    except Exception:
        return None  # it takes something else
    return _dtype(seen)


def _measured_modules() -> dict[type[torch.nn.Module], ModuleClaims]:
    from torch.testing._internal.common_modules import module_db

    returned: defaultdict[type, set[str]] = defaultdict(set)
    parameters: defaultdict[type, set[bool]] = defaultdict(set)
    reduced: set[type] = set()
    dtypes: defaultdict[type, set[_Dtypes]] = defaultdict(set)
    for entry in module_db:
        for training in (False, True):
            seed()
            for sample in entry.module_inputs_func(
                entry, device="cpu", dtype=torch.float32, requires_grad=False, training=training
            ):
                if sample.forward_input is None:
                    continue
                module = entry.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
                module.train(training)
                try:
                    result = module(*sample.forward_input.args, **sample.forward_input.kwargs)
                except RuntimeError:
                    continue  # some samples are of another dtype than they were asked for
                returned[entry.module_cls].add("tensor" if isinstance(result, torch.Tensor) else type(result).__name__)
                parameters[entry.module_cls].add(any(True for _ in module.parameters()))
                given = tree_leaves((sample.forward_input.args, sample.forward_input.kwargs))
                has_dimensions = all(leaf.ndim for leaf in given if isinstance(leaf, torch.Tensor))
                if isinstance(result, torch.Tensor) and not result.ndim and has_dimensions:
                    reduced.add(entry.module_cls)
                dtypes[entry.module_cls].update(_dtypes(module, sample.forward_input.args, sample.forward_input.kwargs))
    return {
        each: ModuleClaims(
            _only(returned[each]), _only(parameters[each]), True if each in reduced else None, _dtype(dtypes[each])
        )
        for each in returned
    }


class _Dtypes(NamedTuple):
    """That of a module's parameters, of the floating point tensors that it is given, and of one that it returns."""

    own: torch.dtype | None
    given: torch.dtype
    returned: torch.dtype


_REAL = (torch.bfloat16, torch.float32, torch.float64)


def _dtypes(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[_Dtypes]:
    """Return what a module does when it is cast as a whole, and what it is given as well."""
    for own, given in itertools.product(_REAL if any(True for _ in module.parameters()) else (None,), _REAL):
        cast = module if own is None else copy.deepcopy(module).to(own)
        cast_args, cast_kwargs = tree_map(
            lambda leaf, to=given: leaf.detach().to(to) if _is_floating(leaf) else leaf, (args, kwargs)
        )
        try:
            result = cast(*cast_args, **cast_kwargs)
        except (RuntimeError, ValueError, AssertionError):
            continue  # most refuse what is not of their own dtype
        yield from (_Dtypes(own, given, leaf.dtype) for leaf in tree_leaves(result) if _is_floating(leaf))


def _is_floating(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def _dtype(seen: set[_Dtypes]) -> str | None:
    if len({each.returned for each in seen}) < 2:
        return None
    if all(each.returned == each.own for each in seen):
        return "self"
    return "inputs" if all(each.returned == each.given for each in seen) else None


def _only(values: set[Any]) -> Any:  # noqa: ANN401
    return next(iter(values)) if len(values) == 1 else None


def _annotated(module: type[torch.nn.Module]) -> str | None:
    try:
        returns = typing.get_type_hints(module.forward).get("return")
    except (NameError, TypeError):
        return None
    return "tensor" if returns is torch.Tensor else "tuple" if typing.get_origin(returns) is tuple else None


_MEMBERS: dict[str, Callable[[distributions.Distribution], object]] = {
    "sample": lambda each: each.sample(),
    "sample_n": lambda each: each.sample_n(2),
    "rsample": lambda each: each.rsample(),
    "log_prob": lambda each: each.log_prob(each.sample()),
    "cdf": lambda each: each.cdf(each.sample()),
    "entropy": lambda each: each.entropy(),
    "perplexity": lambda each: each.perplexity(),
    "enumerate_support": lambda each: each.enumerate_support(),
    "mean": lambda each: each.mean,
    "mode": lambda each: each.mode,
    "variance": lambda each: each.variance,
    "stddev": lambda each: each.stddev,
}
_RUNS: dict[torch.dtype, tuple[Run, ...]] = {
    torch.float32: ("plain", "grad", "first", "rest", "meta"),
    torch.float64: ("plain", "grad"),
}


def distribution_calls() -> Iterator[Observation]:
    """The members of every distribution that its own constraints can make, under the name of their base class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = [getattr(distributions, name) for name in sorted(distributions.__all__)]
        for each in classes:
            if inspect.isclass(each) and issubclass(each, distributions.Distribution):
                for dtype, runs in _RUNS.items():
                    parameters = _parameters(each, dtype)
                    if parameters is None:
                        break
                    for (member, read), run in itertools.product(_MEMBERS.items(), runs):
                        yield from _member_call(each, member, read, run, parameters)


def _member_call(
    distribution: type[distributions.Distribution],
    member: str,
    read: Callable[[distributions.Distribution], object],
    run: Run,
    parameters: dict[str, torch.Tensor],
) -> Iterator[Observation]:
    def call(**given: torch.Tensor) -> object:
        make: Callable[..., distributions.Distribution] = distribution
        return read(make(**given, validate_args=False))

    _, kwargs = changed(run, (), parameters, in_place=False)
    try:
        yield observe(f"torch.distributions.Distribution.{member}", run, call, (), kwargs)[0]
    except Exception:
        return  # not every distribution has every member


def _parameters(distribution: type[distributions.Distribution], dtype: torch.dtype) -> dict[str, torch.Tensor] | None:
    """As many parameters, within their constraints, as the distribution accepts: of probs and logits only one."""
    constraints = distribution.arg_constraints
    if not isinstance(constraints, dict):
        return None
    seed()
    values = {}
    for name, constraint in constraints.items():
        try:
            values[name] = distributions.transform_to(constraint)(torch.randn(3, 3, dtype=dtype))
        except NotImplementedError:
            values[name] = torch.full((3,), 2, dtype=dtype)
    for count in range(len(values), 0, -1):
        for names in itertools.combinations(values, count):
            chosen = {name: values[name] for name in names}
            try:
                distribution(**chosen).sample()
            except (TypeError, ValueError, RuntimeError, AttributeError, AssertionError):
                continue
            return chosen
    return None
