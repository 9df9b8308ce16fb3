"""What people who write torch code mostly mean by a name or a place: one file a habit, its docstring its page.

Dropping a file into this folder registers it: its page, and the hooks that it defines. A hook is a function that
transfer/habit_heuristics.py calls in one phase, those of several files in the order of their names:

of_name(name, value, where)   a parameter, attribute, key or variable whose grad is unknown, by its name: a basis on
                              which it requires no grad, None where it has no such name
of_item(name, where)          the same, of the variable of a loop, or of a part of what an iterator yields
of_computed(name, where)      the same, also of an unknown result that a variable is given

`where.habit(id, message)` makes a basis; None where the user has switched the habit off. A habit about anything else (a
whole program, a test, a class) is asked by the code that knows of it. No habit is proof: what rests on one is of low
confidence.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


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


# What earlier versions believed: a configuration may still switch these off.
RETIRED = frozenset(
    "cpu-argument cpu-function datasets-name detaching-function dtype-name formula-function function-of-data"
    " generation-keywords gradient-name objective-function sample-of-distribution settings-object".split()
)


@cache
def _modules() -> dict[str, ModuleType]:
    return {each: import_module(f"{__name__}.{each.replace('-', '_')}") for each in habit_ids()}


@cache
def hooks(phase: str) -> tuple[Any, ...]:
    """The functions of this name in the files of habits, by identifier."""
    return tuple(getattr(module, phase) for module in _modules().values() if hasattr(module, phase))


@cache
def all_habits() -> tuple[Habit, ...]:
    """Every habit, by identifier."""
    return tuple(
        Habit(each, module.EFFECT, module.APPLIES_TO, (module.__doc__ or "").strip())
        for each, module in _modules().items()
    )
