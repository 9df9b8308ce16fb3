"""Who uses a function or class, and the calls of it that were found."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.references import Reference
    from tonumpy.engine.values.values import (
        Value,
    )


class Users(Enum):
    """Those for whom the callers of a function stand."""

    NOBODY = "only tests, examples or its own module call it"
    LIKELY_ALL = "only scripts beside the package call it, which others can install"
    ALL = "what it is a part of calls it, or there are no others"


class Calls(NamedTuple):
    """The call sites that may call a function.

    `is_meant` tells, from the value of a site's receiver, whether it has this method. `stand_for` tells for which users
    the modules of the sites stand.
    """

    places: list[tuple[Module, Reference]]
    is_meant: Callable[[Value], bool | None] | None
    stand_for: Callable[[Iterable[Module]], Users]
