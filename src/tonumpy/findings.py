"""The values that travel from the rules to every report and to the rewriter: findings, fixes, edits and errors."""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Applicability = Literal["safe", "unsafe", "display-only"]
    Confidence = Literal["high", "medium", "low"]
    Style = Literal["links", "force"]

CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
STYLES: tuple[Style, ...] = ("links", "force")

RULE_PAGES = "https://github.com/tonumpy/tonumpy/blob/main/docs/rules"


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
    """How a finding is repaired; `message` is the repair in the words of a person: "Add `.detach()`"."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


class Ground(NamedTuple):
    """One thing that a finding, or a silence, rests on.

    `kind` is "proof", "promise", "callers", "habit" or "budget"; `about` is what it speaks of: "device", "grad" or
    "kind". `id` names the habit, or the name of the library that promises it. `row` counts from 1, in
    the cell if there is a `cell`; 0 for no place.
    """

    kind: str
    about: str
    id: str
    message: str
    filename: str
    row: int
    cell: int | None = None

    @property
    def place(self) -> str:
        """`file:row`, with the cell between where it is one."""
        return ":".join([self.filename, *([] if self.cell is None else [f"cell {self.cell}"]), str(self.row)])


class Cell(NamedTuple):
    """A cell of a notebook, counted from 1 over the cells of all kinds, and the place of a finding in the JSON text."""

    number: int
    start: Position
    end: Position


class Finding(NamedTuple):
    """One conversion that a rule objects to, from the name `numpy` to the closing bracket of the call.

    `confidence` says how likely the trouble is: "high" where something in sight speaks for it, "low" where all that
    speaks against it is a habit of the field, which `evidence` names.
    In a notebook, all positions are those in the cell.
    """

    filename: str
    code: str
    message: str
    start: Position
    end: Position
    fix: Fix | None
    confidence: Confidence = "medium"
    evidence: tuple[Ground, ...] = ()
    cell: Cell | None = None

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
    """One conversion: where it stands, what is converted, the findings there, and the facts behind them."""

    start: Position
    subject: str
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    cell: int | None = None


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
    """As ruff writes it: `module.py:2:14`, `train.ipynb:cell 3:2:14`."""
    parts = [filename] if cell is None else [filename, f"cell {cell}"]
    return ":".join(parts if position is None else (*parts, str(position.row), str(position.column)))
