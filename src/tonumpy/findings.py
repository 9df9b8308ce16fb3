"""The values that travel from the rules to every report and to the rewriter: findings, fixes, edits and errors."""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Applicability = Literal["safe", "unsafe", "display-only"]
    Style = Literal["links", "force"]

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


class Finding(NamedTuple):
    """One conversion that a rule objects to, from the name `numpy` to the closing bracket of the call."""

    filename: str
    code: str
    message: str
    start: Position
    end: Position
    fix: Fix | None

    @property
    def url(self) -> str:
        return f"{RULE_PAGES}/{self.code}.md"


class SourceError(Exception):
    """A file that cannot be read, decoded or parsed.

    `position` is None where the failure has no place in the text (an unreadable file, a broken link).
    """

    def __init__(self, filename: str, reason: str, position: Position | None = None) -> None:
        super().__init__(filename, reason, position)
        self.filename = filename
        self.reason = reason
        self.position = position

    def __str__(self) -> str:
        place = (
            self.filename if self.position is None else f"{self.filename}:{self.position.row}:{self.position.column}"
        )
        return f"{place}: {self.reason}"
