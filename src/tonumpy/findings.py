"""Defines the values passed from the rules to reports and to the rewriter: findings, fixes, edits and errors."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

Applicability = Literal["safe", "unsafe", "display-only"]
Confidence = Literal["high", "medium", "low"]
Sureness = Confidence | Literal["observed"]  # "observed": a run has seen it; never from a check
Style = Literal["links", "force"]
Links = Literal["both", "needed"]
RepairStyle = Literal["links", "needed", "force"]

CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
STYLES: tuple[Style, ...] = ("links", "force")
LINKS: tuple[Links, ...] = ("both", "needed")

RULE_PAGES = "https://github.com/tonumpy/tonumpy/blob/main/docs/rules"
HOW_REPAIRED = {"safe": "fix", "unsafe": "unsafe fix", "display-only": "by hand"}


class Position(NamedTuple):
    """A place in a text: row and column start at 1, and a column counts code points, not bytes."""

    row: int
    column: int


class Edit(NamedTuple):
    """Replace the text from `start` up to but not including `end` by `content`."""

    start: Position
    end: Position
    content: str


class Fix(NamedTuple):
    """The repair of a finding; `message` describes it: "Add `.detach()`"."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]

    @property
    def told(self) -> str:
        """The note after a finding's message: "(unsafe fix: Add `.detach()`)"."""
        return f"({HOW_REPAIRED[self.applicability]}: {self.message})"


class Ground(NamedTuple):
    """One piece of evidence for a finding, or for the lack of one.

    `kind` is "code", "promise", "callers", "habit", "budget" or, for an observation, "run"; `about` is the fact:
    "device", "grad", "grad mode", "dtype" or "kind", and "memory", "list" or "result" for code that writes or reads the
    converted value. `id` is the name of the habit, or of the library that makes the promise; empty for code.
    `row` counts from 1, in the cell if there is a `cell`; 0 for no place.
    """

    kind: str
    about: str
    id: str
    message: str
    filename: str
    row: int
    cell: int | None = None

    @property
    def source(self) -> str:
        """The kind with the id: `habit label-name`, `code`."""
        return f"{self.kind} {self.id}".rstrip()

    @property
    def words(self) -> str:
        """The source and the message: `habit label-name: ...`."""
        return f"{self.source}: {self.message}"

    @property
    def words_with_place(self) -> str:
        """The words, with ` (file:row)` if there is a place."""
        return f"{self.words} ({self.place})" if self.row else self.words

    @property
    def place(self) -> str:
        """The place as `file:row` or `file:cell 3:row`; the file relative to the current folder."""
        cell = [] if self.cell is None else [f"cell {self.cell}"]
        return ":".join([_seen_from_here(self.filename), *cell, str(self.row)])


def _seen_from_here(filename: str) -> str:
    try:
        return os.path.relpath(filename) if os.path.isabs(filename) else filename
    except ValueError:  # on another drive
        return filename


class Cell(NamedTuple):
    """A cell of a notebook, counted from 1 over the cells of all kinds, and the place of a finding in the JSON text."""

    number: int
    start: Position
    end: Position


class Caller(NamedTuple):
    """One frame of a stack: the file by Python's name for it, the row from 1 and the name of the function."""

    filename: str
    row: int
    function: str


class Observed(NamedTuple):
    """The observation of one conversion by a run: its tensor, and how often it was converted there.

    `requires_grad`: the tensor did, with grad mode on. If the tensors of several times differ, each fact is that of the
    first that was refused for it. `reasons` are all that were seen, `error` is torch's first message. `stack`, of the
    first time, has the innermost call first; of the callers of the user's code, only the user's own. `is_fragile`:
    it was not refused only because grad mode was off.
    """

    device: str
    requires_grad: bool
    dtype: str
    layout: str
    shape: tuple[int, ...]
    times: int
    reasons: tuple[str, ...] = ()
    error: str = ""
    stack: tuple[Caller, ...] = ()
    is_fragile: bool = False

    @property
    def words(self) -> str:
        """The observation in words: "seen 3 times: cuda:0, requires grad, float32, shape (2, 3)"."""
        times = "once" if self.times == 1 else f"{self.times} times"
        facts = [self.device, *(["requires grad"] if self.requires_grad or self.is_fragile else [])]
        facts.append(self.dtype.removeprefix("torch."))
        if self.layout != "torch.strided":
            facts.append(self.layout.removeprefix("torch."))
        return f"seen {times}: {', '.join(facts)}, shape {self.shape}"


class Finding(NamedTuple):
    """One conversion that a rule reports, from the name `numpy` to the closing bracket of the call.

    `confidence` says how likely the fault is: "high" if the code has evidence for it, "low" if the only evidence
    against it is a habit of the field, which `evidence` names; "observed" if a run has seen it, with `observed`.
    In a notebook, all positions are those in the cell. `brief` is a short message, empty if the rule has none.
    """

    filename: str
    code: str
    message: str
    start: Position
    end: Position
    fix: Fix | None
    confidence: Sureness = "medium"
    evidence: tuple[Ground, ...] = ()
    cell: Cell | None = None
    brief: str = ""
    observed: Observed | None = None

    @property
    def place(self) -> str:
        """The place as `file:row:column` or `file:cell 3:row:column`."""
        return place_of(self.filename, self.start, self.cell and self.cell.number)

    @property
    def url(self) -> str:
        return f"{RULE_PAGES}/{self.code}.md"


class Answer(NamedTuple):
    """One fact about a conversion: its subject, its value in words, the evidence, and how to resolve a doubt."""

    about: str
    text: str
    grounds: tuple[Ground, ...] = ()
    remedy: str = ""


class Explanation(NamedTuple):
    """One conversion: its place, the converted expression, the findings there, and the facts behind them.

    `silences` are, for each finding, the reasons why it is not reported, none if it is; they may be missing.
    """

    start: Position
    subject: str
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    cell: int | None = None
    silences: tuple[tuple[str, ...], ...] = ()


class SourceError(Exception):
    """A file cannot be read, decoded or parsed.

    `position` is None if the failure has no place in the text (an unreadable file, a broken link); it is relative to
    the `cell` of a notebook, if there is one.
    """

    def __init__(self, filename: str, reason: str, position: Position | None = None, cell: int | None = None) -> None:
        super().__init__(filename, reason, position, cell)
        self.filename = filename
        self.reason = reason
        self.position = position
        self.cell = cell

    @property
    def place(self) -> str:
        return place_of(self.filename, self.position, self.cell)

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def place_of(filename: str, position: Position | None, cell: int | None) -> str:
    """The place in ruff's notation: `module.py:2:14`, `train.ipynb:cell 3:2:14`."""
    parts = [filename] if cell is None else [filename, f"cell {cell}"]
    return ":".join(parts if position is None else (*parts, str(position.row), str(position.column)))
