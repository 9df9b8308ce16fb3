"""One file a rule. A rule's docstring is its page; dropping a file into this folder registers it."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from tonumpy.detectors.completeness import Complete
    from tonumpy.findings import Confidence, Ground, RepairStyle
    from tonumpy.repair.operations import Operation
    from tonumpy.text.candidates import Candidate

    Judged = Literal["receivers", "arguments", "operations", "memory", "copies", "masks", "taken", "comments", "runs"]


class Rule(NamedTuple):
    """A rule. `check` returns the message about a conversion, or None; `repair` the operations that repair it.

    `brief` returns a short message, what and why first: "what is converted: the error"; empty if `check`'s is short.

    `fix_is_unsafe`: the repair changes the result of working code, whatever is known of the tensor.
    A rule judges the conversions that the detectors of its kinds (`judges`) find (see conversions.py).
    Rules that judge runs are reported by a rehearsal only, without `check` and `repair`.
    Rules that judge comments get the codes of a `# noqa` comment that suppress nothing.
    `concerns` returns the plainly complete conversions of a file (`.detach().cpu().numpy()`, or `.cpu().numpy()` under
    `torch.no_grad()`) that the rule may report: for the others nothing need be inferred.
    `related` returns the other lines of the file that the message mentions.
    `confidence` returns that of a finding; a rule has its own if its fault has nothing to do with grad or device.
    `stands_in_for` are codes: if none of them is reported for a conversion, being off or below the wanted confidence,
    this rule reports it, whatever the confidence.
    `on_by_default` rules need not be selected; the others are turned on by their code or, TNP300, by `strict`.

    An `is_preview` rule is off without `preview`, whatever selects it; so are findings of a new kind, for which
    `is_preview_kind` is true (docs/stability.md).
    """

    code: str
    name: str
    page: str
    on_by_default: bool
    judges: tuple[Judged, ...] = ("receivers",)
    check: Callable[[Any], str | None] = lambda _: None
    brief: Callable[[Any], str] = lambda _: ""
    repair: Callable[[Any, RepairStyle], tuple[Operation, ...]] = lambda *_: ()
    fix_is_unsafe: bool = False
    confidence: Callable[[Any], Confidence] = attrgetter("confidence")
    concerns: Callable[[Complete], Iterable[Candidate]] = lambda _: ()
    related: Callable[[Any, str], tuple[Ground, ...]] = lambda *_: ()
    stands_in_for: tuple[str, ...] = ()
    is_preview: bool = False
    is_preview_kind: Callable[[Any], bool] = lambda _: False

    @property
    def summary(self) -> str:
        """The first line of the page without its `#` and its code."""
        return self.page.splitlines()[0].removeprefix("# ").removesuffix(f" ({self.code})")


def concerns_named(names: str) -> Callable[[Complete], Iterable[Candidate]]:
    """The `concerns` of a rule that may report any complete conversion of a file whose code matches the pattern."""
    return lambda complete: complete.candidates if complete.source.says(names) else ()


@cache
def all_rules() -> tuple[Rule, ...]:
    """All rules, sorted by code. A module defines fields of `Rule` by name, in capitals if they are not functions."""
    # Not by pkgutil and inspect, which take as long to import as all the rules.
    names = [name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py") and name != "__init__.py"]
    rules = []
    for name in names:
        module = import_module(f"{__name__}.{name}")
        said = {key.lower(): value for key, value in vars(module).items() if key.lower() in Rule._fields}
        rules.append(Rule(name=name.replace("_", "-"), page=(module.__doc__ or "").strip(), **said))
    return tuple(sorted(rules, key=lambda rule: rule.code))
