"""What is said of a library that is measured, and of an object that no automatic call can make."""

from __future__ import annotations

from typing import NamedTuple


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
    unless: tuple[tuple[str, str], ...] = ()  # a function, and an option beside which it takes what it refuses else
    once: str = ""
    before: str = ""
    only: str = ""  # a pattern of the names that are tried, of a library with hundreds that take no arrays
