"""Reads a fixture: its options and the findings that it expects. CONTRIBUTING.md describes the format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "fixtures"

# Executable ones with a driver of their own, and programs of several modules.
OTHERS = ("runtime/", "reveal/modules/", "notebooks/run/")

# Here what is known is the subject and repairs are everyday ones, for which others have twins.
NO_TWINS = {"facts", "flow", "habits", "libraries", "reveal"}

OPTIONS = {"--strict", "--unsafe-fixes", "--style=force"}

_NEWLINE = r"\r\n|\r|\n"  # splitlines() also splits where Python sees no new line
_DIRECTIVE = re.compile(r"# (options|python): (.+)")
_COMMENT = re.compile(r"# (TNP\d+(?:: .+?)?)(?= +# |$)")
_SAVED = re.compile(r"# (TNP\d{3}) with(?:out (.+?)| (.+?) in place of (.+?))$")
_EXPECTATION = re.compile(
    r"(?P<code>TNP\d{3})(?:(?:: (?:(?P<row>\d+):)?(?P<column>\d+)(?: (?P<sure>unsafe|display-only))?)"
    r"|: (?P<alone>unsafe|display-only))?"
)


class Expected(NamedTuple):
    """One finding: its place is that of the name `numpy`, row and column from 1, the column in code points."""

    row: int
    column: int
    code: str
    applicability: str


class Saved(NamedTuple):
    """A near miss: with `new` in place of `old` in that row the fixture has a finding of this code."""

    row: int
    code: str
    old: str
    new: str

    def undone(self, text: str) -> str:
        """The text of the fixture without what saves it."""
        parts = re.split(f"({_NEWLINE})", text)
        at = 2 * (self.row - 1)
        code, comment, rest = parts[at].partition(f"# {self.code} with")
        assert self.old in code, f"row {self.row}: there is no {self.old}"
        parts[at] = code.replace(self.old, self.new) + comment + rest
        return "".join(parts)


class Fixture(NamedTuple):
    path: Path
    options: frozenset[str]
    python: tuple[int, ...]
    expected: list[Expected]
    saved: list[Saved]

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def name(self) -> str:
        return self.path.relative_to(FOLDER).as_posix()

    @property
    def selected(self) -> tuple[str, ...]:
        """The codes of `--select`; none means the rules on by default."""
        return tuple(code for each in self.options if "=TNP" in each for code in each.partition("=")[2].split(","))

    @property
    def twin(self) -> Path:
        return self.path.with_name(f"{self.path.stem}.fixed.py")

    @property
    def has_twin(self) -> bool:
        return bool(self.fixable) and self.name.partition("/")[0] not in NO_TWINS

    @property
    def fixable(self) -> list[Expected]:
        """What `tonumpy fix` with the fixture's options repairs."""
        allowed = {"safe", "unsafe"} if "--unsafe-fixes" in self.options else {"safe"}
        return [each for each in self.expected if each.applicability in allowed]


def read_fixtures() -> list[Fixture]:
    return [
        read_fixture(path)
        for path in sorted(FOLDER.rglob("*.py"))
        if not path.name.endswith(".fixed.py") and not path.relative_to(FOLDER).as_posix().startswith(OTHERS)
    ]


def read_fixture(path: Path) -> Fixture:
    # surrogateescape: a fixture may be in any encoding; what is read here is ASCII or stands before it on the line
    text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
    lines = re.split(_NEWLINE, text)
    directives = _directives(lines)
    options = frozenset(directives.get("options", "").split())
    unknown = sorted(each for each in options - OPTIONS if not re.fullmatch(r"--select=[A-Z0-9,]+", each))
    assert not unknown, f"{path}: unknown options {unknown}"
    python = tuple(map(int, directives.get("python", "3.0").split(".")))
    expected = [each for row, line in enumerate(lines, 1) for each in expectations(line, row, path)]
    return Fixture(path, options, python, sorted(expected), read_saved(lines))


def _directives(lines: list[str]) -> dict[str, str]:
    """The comments at the head of the file that name options or the oldest Python that can parse it."""
    found: dict[str, str] = {}
    for line in lines:
        match = _DIRECTIVE.fullmatch(line)
        if match is None:
            break
        found[match[1]] = match[2]
    return found


def expectations(line: str, row: int, path: Path) -> list[Expected]:
    comment = _COMMENT.search(line)
    if comment is None:
        # a noqa comment names codes too, but without a colon after them
        assert not re.search(r"# *TNP\d*\b *:", line), f"{path}:{row}: not an expectation: {line.strip()}"
        return []
    found = []
    for part in comment[1].split("; "):
        match = _EXPECTATION.fullmatch(part)
        assert match, f"{path}:{row}: not an expectation: {part}"
        column = int(match["column"] or _column_of_the_only(line[: comment.start()], f"{path}:{row}"))
        found.append(
            Expected(int(match["row"] or row), column, match["code"], match["sure"] or match["alone"] or "safe")
        )
    return found


def _column_of_the_only(code: str, place: str) -> int:
    """Where the line's one `numpy` of a conversion stands; what it says must be said where it has none, or several."""
    columns = [each.start() + 2 for each in re.finditer(r"\.numpy\(", code)]
    assert len(columns) == 1, f"{place}: not an expectation: {len(columns)} conversions, and no column"
    return columns[0]


def read_saved(lines: Iterable[str]) -> list[Saved]:
    """What the comments of a clean fixture say of the details that make it clean."""
    found = []
    for row, line in enumerate(lines, 1):
        match = _SAVED.search(line)
        assert match or not re.search(r"# TNP\d{3} with", line), f"{row}: not a near miss: {line}"
        if match:
            code, gone, new, old = match.groups()
            found.append(Saved(row, code, gone or old, new or ""))
    return found
