"""The values that travel from the rules to every report and to the rewriter: findings, fixes, edits and errors."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

Applicability = Literal["safe", "unsafe", "display-only"]
Confidence = Literal["high", "medium", "low"]
Sureness = Confidence | Literal["observed"]  # the last of what a run has seen, and no check can say
Style = Literal["links", "force"]
Links = Literal["both", "needed"]
RepairStyle = Literal["links", "needed", "force"]

CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
STYLES: tuple[Style, ...] = ("links", "force")
LINKS: tuple[Links, ...] = ("both", "needed")

RULE_PAGES = "https://github.com/tonumpy/tonumpy/blob/main/docs/rules"
HOW_REPAIRED = {"safe": "fix", "unsafe": "unsafe fix", "display-only": "by hand"}


class Position(NamedTuple):
    """A place in a text: row and column both start at 1, and a column counts code points, not bytes."""

    row: int
    column: int


class Edit(NamedTuple):
    """Replace the text from `start` up to but not including `end` by `content`."""

    start: Position
    end: Position
    content: str


class Fix(NamedTuple):
    """The repair of a finding; `message` says it to a person: "Add `.detach()`"."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]

    @property
    def told(self) -> str:
        """The note behind a finding's message: "(unsafe fix: Add `.detach()`)"."""
        return f"({HOW_REPAIRED[self.applicability]}: {self.message})"


class Ground(NamedTuple):
    """One thing that a finding, or a silence, rests on.

    `kind` is "code", "promise", "callers", "habit", "budget" or, of what a run has seen, "run"; `about` is what it
    speaks of: "device", "grad", "grad mode", "dtype" or "kind", and "memory", "list" or "result" where the code writes
    or reads what is converted. `id` names the habit, or the name of the library that promises it; it is empty for code.
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
        """`habit label-name`, `code`."""
        return f"{self.kind} {self.id}".rstrip()

    @property
    def words(self) -> str:
        """`habit label-name: ...`."""
        return f"{self.source}: {self.message}"

    @property
    def words_with_place(self) -> str:
        """The words, and ` (file:row)` where there is a place."""
        return f"{self.words} ({self.place})" if self.row else self.words

    @property
    def place(self) -> str:
        """`file:row`, with the cell between where it is one; the file as seen from the current folder."""
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
    """One frame of a stack: the file as Python knows it, the row from 1 and the name of the function."""

    filename: str
    row: int
    function: str


class Observed(NamedTuple):
    """The observation of one conversion by a run: its tensor, and how often it was converted there.

    `requires_grad`: it did, and grad mode was on. Where the tensors of several times differ, each fact is that of the
    first that was refused for it. `reasons` are all that were seen, `error` is the first as torch words it. `stack`, of
    the first time, has the innermost call first, and of what called the user's code only that code. `is_fragile`:
    nothing was refused, but only because grad mode was off.
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
        """The words for people: "seen 3 times: cuda:0, requires grad, float32, shape (2, 3)"."""
        times = "once" if self.times == 1 else f"{self.times} times"
        facts = [self.device, *(["requires grad"] if self.requires_grad or self.is_fragile else [])]
        facts.append(self.dtype.removeprefix("torch."))
        if self.layout != "torch.strided":
            facts.append(self.layout.removeprefix("torch."))
        return f"seen {times}: {', '.join(facts)}, shape {self.shape}"


class Finding(NamedTuple):
    """One conversion that a rule objects to, from the name `numpy` to the closing bracket of the call.

    `confidence` says how likely the trouble is: "high" where something in sight speaks for it, "low" where all that
    speaks against it is a habit of the field, which `evidence` names; "observed" where a run has seen it, as `observed`
    tells.
    In a notebook, all positions are those in the cell. `brief` is the message in few words, where its rule has any.
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
        """`file:row:column`, with the cell between where it is one."""
        return place_of(self.filename, self.start, self.cell and self.cell.number)

    @property
    def url(self) -> str:
        return f"{RULE_PAGES}/{self.code}.md"


class Answer(NamedTuple):
    """One fact about a conversion: of what, what is known, what that rests on, and what to do about a doubt."""

    about: str
    text: str
    grounds: tuple[Ground, ...] = ()
    remedy: str = ""


class Explanation(NamedTuple):
    """One conversion: where it stands, what is converted, the findings there, and the facts behind them.

    `silences` are for each finding what keeps it out of a report, nothing where it is reported; they may be missing.
    """

    start: Position
    subject: str
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    cell: int | None = None
    silences: tuple[tuple[str, ...], ...] = ()


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed.

    `position` is None where the failure has no place in the text (an unreadable file, a broken link). It is one in
    the cell of a notebook where there is a `cell`.
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
    """The place as ruff writes it: `module.py:2:14`, `train.ipynb:cell 3:2:14`."""
    parts = [filename] if cell is None else [filename, f"cell {cell}"]
    return ":".join(parts if position is None else (*parts, str(position.row), str(position.column)))
