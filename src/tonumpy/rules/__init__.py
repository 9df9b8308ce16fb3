"""One file a rule. A rule's docstring is its page; dropping a file into this folder registers it."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.config import Settings
    from tonumpy.findings import Style
    from tonumpy.repairs import Operation


class Rule(NamedTuple):
    """`check` says in one sentence what is wrong with a conversion, or None; `repair` what to do to its tree then.

    `fix_is_unsafe` where the repair changes what working code gives, whatever is known of the tensor.
    Rules that judge receivers, of `.numpy()`, are given a Conversion; those of arguments an ImplicitConversion.
    `on_by_default` rules need no selecting; the others are turned on by their code or, TNP300, by `strict`.
    """

    code: str
    name: str
    on_by_default: bool
    judges: Literal["receivers", "arguments"]
    check: Callable[[Any], str | None]
    repair: Callable[[Any, Style], tuple[Operation, ...]]
    fix_is_unsafe: bool
    page: str

    @property
    def summary(self) -> str:
        """The first line of the page without its `#` and its code."""
        return self.page.splitlines()[0].removeprefix("# ").removesuffix(f" ({self.code})")


def judges_arguments(settings: Settings) -> bool:
    """Whether files without any call of `.numpy()` may have findings."""
    return any(rule.judges == "arguments" and settings.selects(rule) for rule in all_rules())


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    rules = [
        Rule(
            module.CODE,
            found.name.replace("_", "-"),
            module.ON_BY_DEFAULT,
            getattr(module, "JUDGES", "receivers"),
            module.check,
            module.repair,
            getattr(module, "FIX_IS_UNSAFE", False),
            inspect.cleandoc(module.__doc__ or ""),
        )
        for found, module in zip(iter_modules(__path__), modules, strict=True)
    ]
    return tuple(sorted(rules, key=lambda rule: rule.code))
