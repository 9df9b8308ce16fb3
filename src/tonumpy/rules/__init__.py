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
    """`check` says in one sentence what is wrong with a conversion, or None; `repair` what to do to its tree then.

    `brief` says the same in few words, what and why first: "what is converted: the error"; nothing where the sentence
    itself is short.

    `fix_is_unsafe` where the repair changes what working code gives, whatever is known of the tensor.
    A rule is given what the detectors of the kinds that it judges find (see conversions.py).
    Those that judge runs are told of by a rehearsal alone, and `check` and `repair` are not asked.
    Those that judge comments are given the codes of a `# noqa` comment that suppress nothing.
    `concerns` tells which of the conversions of a file that are plainly complete (`.detach().cpu().numpy()`, or
    `.cpu().numpy()` under `torch.no_grad()`) the rule may object to: about the others nothing need be inferred for it.
    `related` are the other lines of the file that the message speaks of.
    `confidence` is that of a finding; its own where what is wrong has nothing to do with grad or device.
    `stands_in_for` are codes: where none of them is reported of a conversion, for it is not selected or not as sure as
    is asked for, this rule speaks of it, however sure that is.
    `on_by_default` rules need no selecting; the others are turned on by their code or, TNP300, by `strict`.

    An `is_preview` rule is off without `preview`, whatever selects it; so are findings of which `is_preview_kind` says
    that they are of a new kind (docs/stability.md).
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
    """Give the `concerns` of a rule that may object to any complete conversion of a file that says one of the names."""
    return lambda complete: complete.candidates if complete.source.says(names) else ()


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code. A module defines fields of `Rule`, those that are no functions in capitals."""
    # By hand: pkgutil and inspect, which do these things too, take as long to import as all the rules.
    names = [name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py") and name != "__init__.py"]
    rules = []
    for name in names:
        module = import_module(f"{__name__}.{name}")
        said = {key.lower(): value for key, value in vars(module).items() if key.lower() in Rule._fields}
        rules.append(Rule(name=name.replace("_", "-"), page=(module.__doc__ or "").strip(), **said))
    return tuple(sorted(rules, key=lambda rule: rule.code))
