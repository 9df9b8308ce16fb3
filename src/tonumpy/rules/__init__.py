"""One file a rule. A rule's docstring is its page; dropping a file into this folder registers it."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.conversions import Conversion
    from tonumpy.findings import Style
    from tonumpy.repairs import Operation


class Rule(NamedTuple):
    """`check` says in one sentence what is wrong with a conversion, or None; `repair` what to do to its tree then.

    `on_by_default` rules need no selecting; the others are turned on by their code or, TNP300, by `strict`.
    """

    code: str
    name: str
    on_by_default: bool
    check: Callable[[Conversion], str | None]
    repair: Callable[[Conversion, Style], tuple[Operation, ...]]
    page: str

    @property
    def summary(self) -> str:
        """The first line of the page without its `#` and its code."""
        return self.page.splitlines()[0].removeprefix("# ").removesuffix(f" ({self.code})")


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    rules = [
        Rule(
            module.CODE,
            found.name.replace("_", "-"),
            module.ON_BY_DEFAULT,
            module.check,
            module.repair,
            inspect.cleandoc(module.__doc__ or ""),
        )
        for found, module in zip(iter_modules(__path__), modules, strict=True)
    ]
    return tuple(sorted(rules, key=lambda rule: rule.code))
