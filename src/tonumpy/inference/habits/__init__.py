"""What people who write torch code mostly mean by a name or a place: one file a habit, its docstring its page.

Dropping a file into this folder registers it. No habit is proof: what rests on one is of low confidence.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

from tonumpy.lazy_typing import NamedTuple


class Habit(NamedTuple):
    """`id` is the name of its file with hyphens; `applies_to` says what it is asked of; `page` is for people.

    `effect` is what it may do to a finding: "silence" takes it out of what is shown by default.
    """

    id: str
    effect: str
    applies_to: tuple[str, ...]
    page: str

    @property
    def summary(self) -> str:
        """The first line of the page without its `#` and its identifier."""
        return self.page.splitlines()[0].removeprefix("# ").removesuffix(f" ({self.id})")


def habit_ids() -> tuple[str, ...]:
    """Every identifier, in order; no habit is loaded for that."""
    names = (name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py") and name != "__init__.py")
    return tuple(sorted(name.replace("_", "-") for name in names))


@cache
def all_habits() -> tuple[Habit, ...]:
    """Every habit, by identifier."""
    modules = {each: import_module(f"{__name__}.{each.replace('-', '_')}") for each in habit_ids()}
    return tuple(
        Habit(each, module.EFFECT, module.APPLIES_TO, (module.__doc__ or "").strip())
        for each, module in modules.items()
    )
