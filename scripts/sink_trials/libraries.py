"""The libraries that are measured: reads libraries.toml, which says of each what no automatic call can make."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Thing(NamedTuple):
    """An object whose methods are tried: `name` is what makes it for users, `make` what makes it here.

    `is_first`: not where it is only for calls by hand, as its class is found; then its methods are no measure for what
    those of the same name do in other classes."""

    name: str
    make: str
    why: str
    is_first: bool = True


class Library(NamedTuple):
    """`package` is its name on PyPI, where that is another; `modules` those to which no attribute leads.

    `plain`: it is no array that a tensor is held against, but the equal number or list. `trials`: calls by hand.
    `once` and `before` are expressions: what is done before all that is tried, as to compile takes long, and before
    each call."""

    root: str
    package: str = ""
    modules: tuple[str, ...] = ()
    things: tuple[Thing, ...] = ()
    plain: bool = False
    trials: tuple[tuple[str, str], ...] = ()  # a call, and why no automatic one is made
    methods: bool = True  # whether classes are made and their methods tried
    walks: bool = True  # through the modules inside; not where these are the library's own business
    extras: tuple[tuple[str, str], ...] = ()  # names in calls by hand, each with an expression for what is no array
    warns: str = ""  # the class of warnings after which data is left out, by an expression: they count as errors
    takes_cuda: str = ""  # a pattern of the names that take a tensor on CUDA, which the tests' device does not show
    unless: tuple[tuple[str, str], ...] = ()  # a function, and the options beside which it takes what it refuses else
    once: str = ""
    before: str = ""
    then: str = ""  # an expression for what users do next with what a call gave; see later.py
    only: str = ""  # a pattern of the names that are tried, of a library with hundreds that take no arrays
    ways: tuple[tuple[str, str], ...] = ()  # other ways to give a tensor: `records.bbox`, an expression with `value`
    by_hand: str = ""  # which of its rows were not measured by this script, and where they come from


def _read(root: str, table: dict[str, Any]) -> Library:
    """Read one table; its trials stand under the reason why they are written by hand."""
    trials = table.pop("trials", {})
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    given |= {name: tuple(table[name].items()) for name in ("extras", "unless", "ways") if name in table}
    given["things"] = tuple(Thing(**thing) for thing in table.get("things", ()))
    given["trials"] = tuple((f"{root}.{call}", why) for why, calls in trials.items() for call in calls)
    return Library(root, **given)


LIBRARIES: tuple[Library, ...] = tuple(
    _read(root, table) for root, table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
)


def library_of(root: str) -> Library:
    return next(each for each in LIBRARIES if each.root == root)
