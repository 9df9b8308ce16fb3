"""The arguments that functions of other libraries convert or refuse, if they are tensors.
libraries/NAME.json lists them, one file a library: measured on the library itself by scripts/measure_sinks.py, and read
only if a module imports it. A line is a function with its parameters, each as `a:0 tensor items=gd (v, 2)`: name and
position, the forms in which tensors are refused (themselves, in a list, as values of a dict), and the call that was
tried. `=gd`: only tensors that require grad or are on a device; `~`: an array gives another result than a tensor; `^`:
the call passes, and the next use of the object that it returns or changes raises, as when an artist is drawn; `-`: it
takes no NumPy array, so there is no repair; `!TypeError`: every tensor raises that, and `!!`: arrays raise it as well;
`@ValueError:db`: tensors on a device or of bfloat16 raise that instead of NumPy's error, and `c` and `n` stand for a
set conjugate or negative bit; `silence`: it gives other data. The library's message comes last, after ` | `. `?device`:
not beside an argument of this name; `?default,cls`: of either.
`*#fit` is a method of a library's objects, `pipeline.Pipeline#fit` that of a class that differs, `*#__call__` a call of
the objects. `records` are dicts in a list, and `records.bbox` their values under this key.
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
    """The refusal of one form of a tensor argument: letters of `sorts`, or all tensors with `error`, which arrays may
    raise too. `later`: the call passes, and the next use of the object that it returns or changes raises.
    `keeps_value`: arrays give the same result as tensors. `errors`: pairs of a letter and the name of an error other
    than NumPy's; `words`: the library's message."""

    sorts: str
    error: str = ""
    takes_arrays: bool = True
    later: bool = False
    keeps_value: bool = True
    errors: tuple[tuple[str, str], ...] = ()
    words: str = ""


EVERY = Refusal(_SORTS)


class Parameter(NamedTuple):
    """A parameter: `name` is None if it is positional only, `position` if keyword only; -1 and `**` stand for all.
    `takes` are the forms that are converted or refused there: "tensor", "items" for a list of tensors, "values" for a
    dict. `unless`: the arguments beside which nothing is converted (`np.from_dlpack(x, device="cpu")`).
    """

    name: str | None
    position: int | None
    takes: Mapping[str, Refusal]
    unless: frozenset[str] = frozenset()


class Consumer(NamedTuple):
    """A function with its converting parameters; `refuses`: one of them raises for every tensor."""

    parameters: tuple[Parameter, ...]
    refuses: bool


class Argument(NamedTuple):
    """An argument of a converting parameter, with its position or name in the call."""

    node: ast.expr
    position: int | None
    name: str | None
    takes: Mapping[str, Refusal]

    @property
    def keeps_value(self) -> bool:
        return all(each.keeps_value for each in self.takes.values())


class Library(NamedTuple):
    """One file: the lines of its functions (an alias has the name it stands for), its modules, and the lines of methods
    of all classes. `makes_callables`: objects of its classes can be called."""

    functions: dict[str, list[str] | str]
    modules: frozenset[str]
    methods: dict[str, list[list[str]]]
    makes_callables: bool = False


_NONE = Library({}, frozenset(), {})


@cache
def library_of(root: str) -> Library:
    """The table of the library with this import root; an empty one if it was not measured."""
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
    """The function `name` of a module, or the method of an object, by its maker's name:
    `matplotlib.pyplot.subplots`."""
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
    """The pairs of letter and error in `ValueError:db,BufferError:g`."""
    pairs = (each.partition(":") for each in text.split(",") if each)
    return tuple((letter, name) for name, _, letters in pairs for letter in letters)


@cache
def methods_named(root: str, name: str) -> tuple[Consumer, ...]:
    """The methods of this name in a library, one for each line in its table."""
    return tuple(_read(tuple(line)) for line in library_of(root).methods.get(name, ()))


def converting_arguments(call: ast.Call, consumer: Consumer) -> list[Argument]:
    """The arguments of a call for converting parameters; no positional ones after a `*`, which hides positions."""
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
