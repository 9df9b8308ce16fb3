"""What containers and objects hold of copies, and what one takes out of them.

The layers are known as far as they are plain: a field of an object, the key in a dict or the position in a tuple, and
how many lists are around that. A copy without any may be in a container all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.sinks.unfinished.arrival_state import Copies, Copy


def in_list(held: Copies) -> Copies:
    return frozenset(each._replace(lists=each.lists + 1) if each.lists >= 0 else each for each in held)


def in_dict(held: Copies, key: str = "") -> Copies:
    return frozenset(each._replace(lists=0, key=key) for each in held)


def in_tuple(held: Copies, position: int) -> Copies:
    return frozenset(
        each._replace(lists=0, key=f"#{position}") if each.lists < 0 else each._replace(lists=each.lists + 1)
        for each in held
    )


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


def has_positions(held: Copies) -> bool:
    return any(_is_in_tuple(each) for each in held)


def of_position(held: Copies, position: int) -> Copies:
    """What stands there in a tuple or a list."""
    return of_item(frozenset(each for each in held if not _is_in_tuple(each) or each.key == f"#{position}"))


def of_item(held: Copies) -> Copies:
    """What stands at an index, or under a key, that is not known."""
    return frozenset(
        each._replace(lists=each.lists - 1) if each.lists > 0 else each._replace(lists=-1, key="") for each in held
    )


def iterated(held: Copies) -> Copies:
    """What a loop over it gets: of a dict the keys."""
    return of_item(frozenset(each for each in held if each.lists != 0 or _is_in_tuple(each)))


def values_of(held: Copies) -> Copies:
    """A list of what a dict holds."""
    return frozenset(each._replace(lists=-1, key="") if each.lists == 0 else each for each in held)


def _is_in_tuple(each: Copy) -> bool:
    return each.lists == 0 and each.key.startswith("#")
