"""What containers and objects hold of copies, and what one takes out of them.

The layers are known as far as they are plain: a field of an object, the key in a dict, and how many lists are around
the dict. A copy without any may be in a container all the same.
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES

if TYPE_CHECKING:
    from tonumpy.sinks.unfinished.arrival_state import Copies


def in_list(held: Copies) -> Copies:
    return frozenset(each._replace(lists=each.lists + 1) if each.lists >= 0 else each for each in held)


def in_dict(held: Copies, key: str = "") -> Copies:
    return frozenset(each._replace(lists=0, key=key) for each in held)


def in_field(held: Copies, name: str) -> Copies:
    return frozenset(each._replace(field=f"{name}.{each.field}" if each.field else name) for each in held)


def of_field(held: Copies, name: str) -> Copies:
    """What an attribute of something is: of an object that of its field, of a tensor the same memory."""
    found = []
    for each in held:
        first, _, rest = each.field.partition(".")
        if first in ("", name):
            found.append(each._replace(field=rest))
    return frozenset(found)


def of_key(held: Copies, key: str) -> Copies:
    """What stands under a literal key. It may be one of many of which a single call makes the copies."""
    return frozenset(
        each._replace(lists=-1, key="", part=key) for each in held if each.lists <= 0 and each.key in ("", key)
    )


def of_item(held: Copies) -> Copies:
    """What stands at an index, or under a key, that is not known."""
    return frozenset(
        each._replace(lists=max(-1, each.lists - 1), key=each.key if each.lists > 0 else "") for each in held
    )


def iterated(held: Copies) -> Copies:
    """What a loop over it gets: of a dict the keys."""
    return of_item(frozenset(each for each in held if each.lists != 0)) if held else NO_COPIES


def values_of(held: Copies) -> Copies:
    """A list of what a dict holds."""
    return frozenset(each._replace(lists=-1, key="") if each.lists == 0 else each for each in held)
