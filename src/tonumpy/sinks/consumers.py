"""Which arguments a function of another library converts, if they are tensors.

consumers.json says it: that is measured on the libraries themselves by scripts/measure_consumers.py. `Axes`,
`Estimator` and `Group` stand there for the objects that Matplotlib's, scikit-learn's (and those of what has the same
methods) and h5py's functions give.
"""

from __future__ import annotations

import ast
import json
import os
from functools import cache

from tonumpy.lazy_typing import NamedTuple

_OBJECTS = {
    "matplotlib": "Axes",
    "h5py": "Group",
    **dict.fromkeys(("sklearn", "xgboost", "lightgbm"), "Estimator"),
}


class Parameter(NamedTuple):
    """`name` is None where it is given by position only, `position` where by name only; -1 stands for all positions,
    and `**` for all names.

    `takes` says what is converted there: "tensor", "items" for a list of tensors, "values" for a dict of them.
    """

    name: str | None
    position: int | None
    takes: frozenset[str]


class Consumer(NamedTuple):
    """A function, with the parameters that convert; `keeps_value`: it gives of arrays what it gives of tensors."""

    parameters: tuple[Parameter, ...]
    keeps_value: bool


class Argument(NamedTuple):
    """What a call gives for a parameter that converts; `position` and `name` say where among its arguments."""

    node: ast.expr
    position: int | None
    name: str | None
    takes: frozenset[str]


@cache
def consumers() -> dict[str, Consumer]:
    path = os.path.join(os.path.dirname(__file__), "consumers.json")
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    return {
        name: Consumer(
            tuple(Parameter(known, position, frozenset(takes)) for known, position, takes in entry["converts"]),
            entry["same"],
        )
        for name, entry in table.items()
    }


def consumer_of(library: str, name: str) -> Consumer | None:
    """The function `name` of a module or, by the name of what made it, of an object: `matplotlib.pyplot.subplots`."""
    found = consumers().get(f"{library}.{name}")
    if found is None:
        found = consumers().get(f"{_OBJECTS.get(library.partition('.')[0])}.{name}")
    return found


@cache
def methods_of(root: str) -> frozenset[str]:
    """The methods that convert, of the objects that a library gives."""
    kind = _OBJECTS.get(root)
    return frozenset(name.partition(".")[2] for name in consumers() if kind and name.startswith(f"{kind}."))


def converting_arguments(call: ast.Call, consumer: Consumer) -> list[Argument]:
    """The arguments of a call for the parameters that convert; none after a `*`, which hides their positions."""
    found = []
    for position, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            break
        for parameter in consumer.parameters:
            if parameter.position in (position, -1):
                found.append(Argument(node, position, None, parameter.takes))
                break
    for keyword in call.keywords:
        for parameter in consumer.parameters:
            if keyword.arg is not None and parameter.name in (keyword.arg, "**"):
                found.append(Argument(keyword.value, None, keyword.arg, parameter.takes))
    return found
