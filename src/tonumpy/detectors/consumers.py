"""Which arguments a function of another library converts or refuses, if they are tensors.

libraries/NAME.json says it, one file a library: that is measured on the library itself by scripts/measure_sinks.py, and
only the files of libraries are read that a module imports. A line there is a function with its parameters, each as
`a:0 tensor items=gd (v, 2)`: the name and the position, how tensors are given that are refused (themselves, in a list,
as values of a dict), and the call that was tried. `=gd`: only what requires grad or is on a device; `~`: an array
gives something else than a tensor does; `^`: not the call raises but what is done next with what it gives or changes,
as an artist is drawn; `-`: it takes no array of NumPy, so that there is no repair; `!TypeError`: every tensor raises
that, and `!!` that arrays raise as well; `@ValueError:db`: what is on a device or of bfloat16 raises that, where NumPy
has another error, and `c` and `n` what has its conjugate or negative bit set; `silence`: it gives other data. The
library's own words stand last, after ` | `. `?device`: not beside an argument of this name; `?default,cls`: of either.
`*#fit` is what the objects of a library do, `pipeline.Pipeline#fit` those of a class that differs; `*#__call__` if they
are called themselves. `records` are dicts in a list, and `records.bbox` what stands in them under this key.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

_SORTS = "gdbs"  # requires grad, on a device, of bfloat16, sparse
# Packages that hold a part of another library.
_HOMES = {"mpl_toolkits": "matplotlib"}


class Refusal(NamedTuple):
    """The refusal of one way to give a tensor: letters of sorts, or every tensor with an error of this name, where
    arrays may be refused too. `later`: in what is done next with what the function gives or changes. `keeps_value`:
    of arrays the function gives what it gives of tensors. `errors`: pairs of a letter and the name of an error, where
    that is another than NumPy's; `words`: what the library says then."""

    sorts: str
    error: str = ""
    takes_arrays: bool = True
    later: bool = False
    keeps_value: bool = True
    errors: tuple[tuple[str, str], ...] = ()
    words: str = ""


EVERY = Refusal(_SORTS)


class Parameter(NamedTuple):
    """`name` is None where it is given by position only, `position` where by name only; -1 stands for all positions,
    and `**` for all names.

    `takes` says what is converted there, or refused: "tensor", "items" for a list of tensors, "values" for a dict.
    `unless`: the names of arguments beside which it is not (`np.from_dlpack(x, device="cpu")`).
    """

    name: str | None
    position: int | None
    takes: Mapping[str, Refusal]
    unless: frozenset[str] = frozenset()


class Consumer(NamedTuple):
    """A function, with the parameters that convert; `refuses`: it raises for every tensor at one of them."""

    parameters: tuple[Parameter, ...]
    refuses: bool


class Argument(NamedTuple):
    """An argument for a parameter that converts; `position` and `name` say where among its arguments."""

    node: ast.expr
    position: int | None
    name: str | None
    takes: Mapping[str, Refusal]

    @property
    def keeps_value(self) -> bool:
        return all(each.keeps_value for each in self.takes.values())


class Library(NamedTuple):
    """One file: the lines of its functions, an alias as the name that it stands for; its modules; the lines of its
    methods, of all classes. `makes_callables`: objects of its classes are called as functions are."""

    functions: dict[str, list[str] | str]
    modules: frozenset[str]
    methods: dict[str, list[list[str]]]
    makes_callables: bool = False


_NONE = Library({}, frozenset(), {})


@cache
def library_of(root: str) -> Library:
    """Return the table of the library that is imported by this name; an empty one where none is measured."""
    path = os.path.join(os.path.dirname(__file__), "libraries", f"{_HOMES.get(root, root)}.json")
    try:
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
    except OSError:
        return _NONE
    methods: dict[str, list[list[str]]] = {}
    for name, line in table["functions"].items():
        if "#" in name and line:
            methods.setdefault(name.rpartition("#")[2], []).append(line)
    makes_callables = any(name.endswith("#__call__") and name[0].isupper() for name in table["functions"])
    return Library(table["functions"], frozenset(table["modules"]), methods, makes_callables)


@cache
def consumer_of(library: str, name: str) -> Consumer | None:
    """The function `name` of a module or, by the name of what made it, of an object: `matplotlib.pyplot.subplots`."""
    root, _, inside = library.partition(".")
    if root in _HOMES:
        inside = library
    known = library_of(root)
    line = known.functions.get(f"{inside}.{name}" if inside else name)
    if isinstance(line, str):
        line = known.functions[line]
    if line is None and library not in known.modules:
        # `gymnasium.spaces.Box` is measured as Box, since no call of the table's own makes one.
        owners = (inside, inside.rpartition(".")[2], "*")
        line = next((line for each in owners if (line := known.functions.get(f"{each}#{name}")) is not None), None)
    return _read(tuple(line)) if line else None


def _read(line: tuple[str, ...]) -> Consumer:
    parameters = []
    for text in line:
        shown, _, words = text.partition(" | ")
        place, *ways = shown.partition(" (")[0].split()
        name, _, position = place.partition(":")
        takes = {}
        unless: frozenset[str] = frozenset()
        for way in ways:
            if way.startswith("?"):
                unless = frozenset(way[1:].split(","))
                continue
            kind, _, error = way.partition("!")
            kind, _, own = kind.partition("@")
            kind, _, sorts = kind.partition("=")
            refusal = Refusal("", error.lstrip("!"), not error.startswith("!")) if error else Refusal(sorts or _SORTS)
            refusal = refusal._replace(later="^" in kind, keeps_value="~" not in kind)
            refusal = refusal._replace(takes_arrays=refusal.takes_arrays and "-" not in kind)
            takes[kind.rstrip("~^-")] = refusal._replace(errors=_errors_in(own), words=words if own or error else "")
        parameters.append(Parameter(name or None, int(position) if position else None, takes, unless))
    refuses = any(each.error for parameter in parameters for each in parameter.takes.values())
    return Consumer(tuple(parameters), refuses)


def _errors_in(text: str) -> tuple[tuple[str, str], ...]:
    """`ValueError:db,BufferError:g` by letters."""
    pairs = (each.partition(":") for each in text.split(",") if each)
    return tuple((letter, name) for name, _, letters in pairs for letter in letters)


@cache
def methods_named(root: str, name: str) -> tuple[Consumer, ...]:
    """Return what a method of this name does, one for each sort of object of a library that has such."""
    return tuple(_read(tuple(line)) for line in library_of(root).methods.get(name, ()))


def converting_arguments(call: ast.Call, consumer: Consumer) -> list[Argument]:
    """The arguments of a call for the parameters that convert; none after a `*`, which hides their positions."""
    found = []
    names = {keyword.arg for keyword in call.keywords if keyword.arg is not None}
    for position, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            break
        for parameter in consumer.parameters:
            if parameter.position in (position, -1) and parameter.unless.isdisjoint(names):
                found.append(Argument(node, position, None, parameter.takes))
                break
    for keyword in call.keywords:
        for parameter in consumer.parameters:
            if keyword.arg is None or not parameter.unless.isdisjoint(names):
                continue
            if parameter.name in (keyword.arg, "**"):
                found.append(Argument(keyword.value, None, keyword.arg, parameter.takes))
    return found
