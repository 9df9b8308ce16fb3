"""What inference reveals of the receivers of `.numpy()` in a text, in fixed words.

The words beside an expression are `# revealed: KIND, DEVICE, GRAD`, one such for each candidate of the line in the
order of the text, `;` between them. KIND is `tensor`, `likely tensor`, `unknown`, `no tensor` or `None`, several of
them with `or` between, in this order, or `not reached`. DEVICE is `on cpu`, `off cpu` or `device unknown`, GRAD is
`no grad`, `with grad` or `grad unknown`; both are left out where there is no tensor. Where grad mode is known, `mode
on` or `mode off` follows.

A claim is what Python and torch make true. `# by convention` at the end of a line says that one is not, and rests on
a habit or on what most code does; `# known wrong` that one is false, as inference does not follow so far (aliases,
views, containers of containers); `# never runs` says that no call gets so far.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import join_fact, members, tensor_facts
from tonumpy.engine.values.values import NONE, Tensor, Unknown, Value
from tonumpy.facts import Fact
from tonumpy.text.candidates import Candidate, find_candidates
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMMENT = re.compile(r"# revealed: (?P<words>.+?)(?= +# |$)")
_KINDS = ("tensor", "likely tensor", "unknown", "no tensor", "None")

Place = tuple[int, int]  # where a call ends: row and byte column, unlike for all candidates of a text


class Claim(NamedTuple):
    """What inference says of a receiver; a fact of None is unknown. No kinds: the code is not reached."""

    kinds: frozenset[str]
    on_cpu: Fact
    requires_grad: Fact
    grad_mode: Fact

    def __str__(self) -> str:
        if not self.kinds:
            return "not reached"
        words = [" or ".join(kind for kind in _KINDS if kind in self.kinds)]
        if self.kinds - {"no tensor", "None"}:
            words.append({True: "on cpu", False: "off cpu", None: "device unknown"}[self.on_cpu])
            words.append({True: "with grad", False: "no grad", None: "grad unknown"}[self.requires_grad])
        if self.grad_mode is not None:
            words.append("mode on" if self.grad_mode else "mode off")
        return ", ".join(words)


def revealed(
    source: Source, project: Project | None = None, candidates: list[Candidate] | None = None
) -> list[tuple[Candidate, Claim]]:
    """Each candidate of a source, in the order of the text, or of some that are asked for, in their order."""
    candidates = find_candidates(source) if candidates is None else candidates
    observed = observe(Module(source, project or Project()), candidates)
    return [(candidate, _claim(observed.get(id(candidate.call)))) for candidate in candidates]


def claims(source: Source, project: Project | None = None) -> dict[Place, Claim]:
    return {place_of(candidate): claim for candidate, claim in revealed(source, project)}


def place_of(candidate: Candidate) -> Place:
    assert candidate.call.end_lineno is not None
    assert candidate.call.end_col_offset is not None
    return candidate.call.end_lineno, candidate.call.end_col_offset


def words_by_row(found: Iterable[tuple[Candidate, Claim]]) -> dict[int, list[str]]:
    rows: dict[int, list[str]] = {}
    for candidate, claim in found:
        rows.setdefault(place_of(candidate)[0], []).append(str(claim))
    return rows


def expected_words(text: str) -> dict[int, list[str]]:
    """What the comments of a text say, by row."""
    matches = ((row, _COMMENT.search(line)) for row, line in enumerate(text.splitlines(), 1))
    return {row: match["words"].split("; ") for row, match in matches if match}


def marked_rows(text: str, mark: str) -> set[int]:
    """The rows that end with a mark: `by convention`, `known wrong` or `never runs`."""
    return {row for row, line in enumerate(text.splitlines(), 1) if line.endswith(f"  # {mark}")}


def _claim(seen: Observation | None) -> Claim:
    if seen is None:
        return Claim(frozenset(), None, None, None)
    cpu: Fact = None
    grad: Fact = None
    found = [value for value in members(seen.receiver) if isinstance(value, (Tensor, Unknown))]
    for number, value in enumerate(found):
        other_cpu, other_grad = tensor_facts(value)
        cpu = join_fact(cpu, other_cpu) if number else other_cpu
        grad = join_fact(grad, other_grad) if number else other_grad
    kinds = frozenset(_kind(value) for value in members(seen.receiver))
    return Claim(kinds, cpu, grad, seen.grad_mode)


def _kind(value: Value) -> str:
    if isinstance(value, Tensor):
        return "tensor" if value.certainty == "tensor" else "likely tensor"
    if isinstance(value, Unknown):
        return "unknown"
    return "None" if value == NONE else "no tensor"
