"""Every fixture: its findings, the bytes of its repair, and the agreement of the command and flake8 on it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from fixture_format import FOLDER, Expected, Fixture, read_fixture, read_fixtures
from format_readers import READERS, html

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import Finding
from tonumpy.formats import format_names
from tonumpy.pipeline import check, fix
from tonumpy.report import Report, format_named
from tonumpy.rules import all_rules
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from tonumpy.findings import Style

FIXTURES = [fixture for fixture in read_fixtures() if sys.version_info >= fixture.python]

each_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])


def settings_of(fixture: Fixture) -> Settings:
    style: Style = "force" if "--style=force" in fixture.options else "links"
    return Settings(select=fixture.selected or None, strict="--strict" in fixture.options, style=style)


@cache
def findings_in(data: bytes, fixture: Fixture) -> list[Finding]:
    source = Source(data, str(fixture.path))
    return suppress(source, check(source, settings_of(fixture), Project()))


@cache
def fixed(data: bytes, fixture: Fixture) -> tuple[bytes, list[Finding]]:
    """The repaired text, and the findings that are left in it."""
    source = Source(data, str(fixture.path))
    result = fix(source, settings_of(fixture), Project(), unsafe="--unsafe-fixes" in fixture.options)
    return source.encode(result.text), result.remaining


def places(findings: Iterable[Finding]) -> list[Expected]:
    """What a fixture says of findings; a finding without a fix is as good as one that is only shown."""
    return sorted(
        Expected(*each.start, each.code, each.fix.applicability if each.fix else "display-only") for each in findings
    )


@each_fixture
def test_findings(fixture: Fixture) -> None:
    assert places(findings_in(fixture.path.read_bytes(), fixture)) == fixture.expected


@each_fixture
def test_fix(fixture: Fixture, update_fixtures: bool) -> None:
    before = fixture.path.read_bytes()
    after, remaining = fixed(before, fixture)
    if update_fixtures:
        write_twin(fixture, before, after)
    assert fixture.twin.exists() == fixture.has_twin, "a twin belongs where a fix is the subject, only there"
    if fixture.has_twin:
        assert after == fixture.twin.read_bytes()
    else:
        assert (after != before) == bool(fixture.fixable)
        assert without_links(after) == without_links(before)
    ast.parse(after)
    if after != before:
        again, remaining = fixed(after, fixture)
        assert again == after, "a second run changes something"
    left = Counter(each.code for each in fixture.expected) - Counter(each.code for each in fixture.fixable)
    assert Counter(each.code for each in remaining) == left


@pytest.mark.parametrize(
    "fixture", [each for each in FIXTURES if each.saved], ids=[each.name for each in FIXTURES if each.saved]
)
def test_a_near_miss_is_found_without_what_saves_it(fixture: Fixture) -> None:
    text = fixture.path.read_bytes().decode("utf-8", "surrogateescape")
    for saved in fixture.saved:
        undone = saved.undone(text).encode("utf-8", "surrogateescape")
        assert saved.code in {each.code for each in findings_in(undone, fixture)}, saved


_LINKS = re.compile(rb"\.(?:data\b|(?:detach|cpu|numpy|copy|float|resolve_conj|resolve_neg|to_dense)\(\))")


def without_links(text: bytes) -> bytes:
    """All that an everyday repair leaves as it was."""
    return _LINKS.sub(b"", text)


def test_every_sort_of_repair_is_in_a_twin() -> None:
    """So that no fixture without a twin has a repair that is seen nowhere to the byte."""
    sorts: dict[bool, set[object]] = {True: set(), False: set()}
    for fixture in FIXTURES:
        for finding in findings_in(fixture.path.read_bytes(), fixture):
            allowed = finding.fix and (finding.fix.applicability == "safe" or "--unsafe-fixes" in fixture.options)
            if finding.fix and allowed:
                what = finding.fix.message.partition(" to `")[0]  # whatever code it is added to
                sorts[fixture.has_twin].add((finding.code, finding.fix.applicability, what))
    assert sorts[False] <= sorts[True]


def test_every_format_of_all_findings_is_read_by_its_readers(chosen: frozenset[str]) -> None:
    fixtures = [fixture for fixture in FIXTURES if fixture.name in chosen]
    findings = [each for fixture in fixtures for each in findings_in(fixture.path.read_bytes(), fixture)]
    report = Report(findings, [], read=lambda filename: Path(filename).read_bytes())
    assert [each.message for each in findings if each.confidence == "high" and "can raise" in each.message] == []
    places = sorted((Path(each.filename).name, each.start.row, each.code) for each in findings)
    for name in format_names():
        text = format_named(name).render(report, colour=False)
        if name == "html":
            html(text)
        elif name in READERS:
            found = READERS[name](text)
            assert sorted((Path(path).name, row, code) for path, row, code in found.elements()) == places, name
        else:
            assert len(re.findall(r"\bTNP\d{3} (?=\[\*\]|`|[a-z(])", text)) >= len(findings), name


def write_twin(fixture: Fixture, before: bytes, after: bytes) -> None:
    if after != before and fixture.has_twin:
        fixture.twin.write_bytes(after)
    else:
        fixture.twin.unlink(missing_ok=True)


GROUPS = sorted({fixture.options for fixture in FIXTURES}, key=sorted)

each_group = pytest.mark.parametrize("options", GROUPS, ids=lambda options: " ".join(sorted(options)))


@pytest.fixture(scope="session")
def chosen(request: pytest.FixtureRequest) -> frozenset[str]:
    """The names of the fixtures that this run is about: with `-k NAME` few."""
    parameters = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    named = frozenset(each["fixture"].name for each in parameters if isinstance(each.get("fixture"), Fixture))
    return named or frozenset(fixture.name for fixture in FIXTURES)


class Runs(NamedTuple):
    """Where real runs are made, and of which fixtures."""

    folder: Path
    chosen: frozenset[str]

    def names(self, options: frozenset[str]) -> list[str]:
        return [fixture.name for fixture in FIXTURES if fixture.options == options and fixture.name in self.chosen]


@pytest.fixture(scope="session")
def runs(fixtures_alone: Path, chosen: frozenset[str]) -> Runs:
    return Runs(fixtures_alone, chosen)


@cache
def run_of_command(options: frozenset[str], runs: Runs) -> subprocess.CompletedProcess[str]:
    """One real run of `tonumpy check` over the fixtures with these options; `check` knows only some of them."""
    command = [sys.executable, "-m", "tonumpy", "check", "--isolated", "--output-format", "json"]
    known = [each for each in options if each.startswith(("--strict", "--select"))]
    return subprocess.run([*command, *known, *runs.names(options)], capture_output=True, text=True, cwd=runs.folder)


@cache
def run_of_flake8(options: frozenset[str], runs: Runs) -> subprocess.CompletedProcess[str]:
    """One real run of flake8 over the fixtures with these options."""
    command = [
        sys.executable,
        "-m",
        "flake8",
        "--isolated",
        *([each for each in options if each.startswith("--select")] or ["--select=TNP"]),
        "--format=%(path)s|%(row)d|%(col)d|%(code)s",
    ]
    strict = ["--tonumpy-strict"] if "--strict" in options else []
    return subprocess.run([*command, *strict, *runs.names(options)], capture_output=True, text=True, cwd=runs.folder)


@pytest.mark.slow
@each_group
def test_the_runs_speak_of_no_error(options: frozenset[str], runs: Runs) -> None:
    assert run_of_command(options, runs).stderr == ""
    assert run_of_flake8(options, runs).stderr == ""


@cache
def found_by_command(options: frozenset[str], runs: Runs) -> dict[str, list[Expected]]:
    found: dict[str, list[Expected]] = {}
    for each in json.loads(run_of_command(options, runs).stdout):
        applicability = each["fix"]["applicability"] if each["fix"] else "display-only"
        expected = Expected(each["location"]["row"], each["location"]["column"], each["code"], applicability)
        found.setdefault(Path(each["filename"]).relative_to(runs.folder).as_posix(), []).append(expected)
    return found


@cache
def found_by_flake8(options: frozenset[str], runs: Runs) -> dict[str, list[tuple[int, int, str]]]:
    found: dict[str, list[tuple[int, int, str]]] = {}
    for line in run_of_flake8(options, runs).stdout.splitlines():
        name, row, column, code = line.split("|")
        found.setdefault(name, []).append((int(row), int(column), code))
    return found


@pytest.mark.slow
@each_fixture
def test_the_command_agrees(fixture: Fixture, runs: Runs) -> None:
    assert sorted(found_by_command(fixture.options, runs).get(fixture.name, [])) == fixture.expected


@pytest.mark.slow
@each_fixture
def test_flake8_agrees(fixture: Fixture, runs: Runs) -> None:
    """flake8 knows nothing of applicability."""
    found = found_by_flake8(fixture.options, runs).get(fixture.name, [])
    assert sorted(found) == [(each.row, each.column, each.code) for each in fixture.expected]


@pytest.mark.slow
@each_group
def test_the_command_writes_the_twins(options: frozenset[str], tmp_path: Path) -> None:
    fixtures = [fixture for fixture in FIXTURES if fixture.options == options]
    for fixture in fixtures:
        copy = tmp_path / fixture.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(fixture.path, copy)
    (tmp_path / "pyproject.toml").touch()  # others may call what can be installed, as they may where the fixtures lie
    run = subprocess.run(
        [sys.executable, "-m", "tonumpy", "fix", "--isolated", "--quiet", *options, "."],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.stderr == ""
    for fixture in fixtures:
        before = fixture.path.read_bytes()
        expected = fixture.twin.read_bytes() if fixture.has_twin else fixed(before, fixture)[0]
        assert (tmp_path / fixture.name).read_bytes() == expected, fixture.name


@pytest.mark.parametrize("code", [rule.code for rule in all_rules() if rule.judges != ("runs",)])
def test_every_rule_has_a_flagged_and_a_clean_fixture(code: str) -> None:
    own = [fixture for fixture in FIXTURES if fixture.path.parent.name == code]
    assert any(each.code == code for fixture in own for each in fixture.expected)
    assert any(not fixture.expected for fixture in own)


def test_clean_fixtures_are_named_so() -> None:
    for fixture in FIXTURES:
        assert fixture.path.name.startswith("clean_") == (not fixture.expected), fixture.name


def test_no_twin_is_left_alone() -> None:
    known = {fixture.twin for fixture in read_fixtures()}
    twins = {path for path in FOLDER.rglob("*.fixed.py") if path.relative_to(FOLDER).parts[0] != "runtime"}
    assert twins <= known


def test_a_misspelt_expectation_is_refused(tmp_path: Path) -> None:
    for comment in ("TNP101: x", "TNP101:12", "TNP101: 12 safe", "TNP101: 12;TNP102: 13", "TNP10: 12"):
        path = tmp_path / "misspelt.py"
        path.write_text(f"x.numpy()  # {comment}\n")
        with pytest.raises(AssertionError, match="not an expectation"):
            read_fixture(path)


def test_a_column_may_be_left_out_where_there_is_one_conversion(tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text("y = x.numpy()  # TNP101\nx.cpu().numpy()  # TNP102: unsafe\nz.numpy()  # noqa: TNP101\n")
    assert read_fixture(path).expected == [Expected(1, 7, "TNP101", "safe"), Expected(2, 9, "TNP102", "unsafe")]
    for line in ("x.numpy(), y.numpy()  # TNP101", "np.asarray(x)  # TNP104", "x.numpy()  # TNP10"):
        path.write_text(line)
        with pytest.raises(AssertionError, match="not an expectation"):
            read_fixture(path)


def test_a_misspelt_near_miss_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clean_misspelt.py"
    path.write_text("x.cpu().numpy()  # TNP102 with .cpu() for .detach()\n")
    with pytest.raises(AssertionError, match="not a near miss"):
        read_fixture(path)
    path.write_text("x.cpu().numpy()  # TNP102 without .detach()\n")
    with pytest.raises(AssertionError, match=r"there is no \.detach"):
        read_fixture(path).saved[0].undone(path.read_text())
