"""Lists every public callable and attribute of torch that user code can name, each with its one canonical name."""

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch

# Where user code finds functions. What several of them show goes by the name of the first; the others are aliases.
NAMESPACES = (
    "torch",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.nn.functional",
    "torch.sparse",
    "torch.masked",
    "torch.nested",
    "torch.signal.windows",
    "torch.autograd",
    "torch.functional",
    "torch.utils.dlpack",
)

# The methods behind Python's operators and conversions.
OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in (
        "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift lt le gt ge eq ne neg pos abs invert "
        "getitem setitem len iter contains bool int float complex index reversed deepcopy array"
    ).split()
)


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public name with its callable, namespaces in the order of NAMESPACES and Tensor's methods last."""
    for namespace in NAMESPACES:
        module = _module(namespace)
        for attribute in sorted(dir(module)):
            value = _value(module, attribute)
            is_function = callable(value) and not isinstance(value, type) and not attribute.startswith("_")
            if is_function and (getattr(value, "__module__", None) or "torch").startswith("torch"):
                yield f"{namespace}.{attribute}", value
    yield from (
        (f"torch.{name}", value)
        for name, value in sorted(vars(torch).items())
        if isinstance(value, type(torch.FloatTensor)) and value.__module__ == "torch"
    )
    yield "torch.Tensor", torch.Tensor
    yield "torch.nn.Parameter", torch.nn.Parameter
    for attribute in sorted(dir(torch.Tensor)):
        value = _value(torch.Tensor, attribute)
        if callable(value) and (attribute in OPERATORS or not attribute.startswith("_")):
            yield f"torch.Tensor.{attribute}", value


def public_attributes() -> list[str]:
    """The names of Tensor's attributes and properties."""
    return [
        name
        for name in sorted(dir(torch.Tensor))
        if not name.startswith("_") and not callable(_value(torch.Tensor, name))
    ]


def canonical_names() -> tuple[dict[Any, str], dict[str, str]]:
    """Callable -> canonical name, and alias -> canonical name. A callable's own `__name__` is preferred."""
    found = list(public_callables())
    names: dict[Any, str] = {}
    for own in (True, False):
        for name, value in found:
            if own == (name.rpartition(".")[2] == getattr(value, "__name__", None)):
                names.setdefault(value, name)
    return names, {name: names[value] for name, value in found if names[value] != name}


def _module(name: str) -> ModuleType:
    module = torch
    for part in name.split(".")[1:]:
        module = getattr(module, part)
    return module


def _value(owner: object, name: str) -> Any:  # noqa: ANN401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecated name warns when it is looked at
        return getattr(owner, name, None)
