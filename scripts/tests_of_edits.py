"""Run the tests of a repository that execute lines which `tonumpy fix` edits, before the fix and after it.

    python scripts/tests_of_edits.py REPOSITORY [--fix-option=--unsafe-fixes ...] [-- PYTEST_OPTION ...]

Works on two copies of the repository. One run of its tests under coverage tells which of them execute edited lines;
the files of these are run in both copies. Of these tests those that were executed, those skipped (in either run) and
those missing (in either run) are counted apart, and those whose outcome changed are named. Exit code 1 if one changed
or is missing. Needs pytest-cov.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from coverage import CoverageData

_IGNORED = shutil.ignore_patterns(".git", "__pycache__", ".tox", ".venv", "build")


class Comparison(NamedTuple):
    """The tests that were run in both copies, by what became of them; `changed` with both outcomes."""

    executed: list[str]
    skipped: list[str]
    missing: list[str]
    changed: list[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--fix-option", action="append", default=[], help="an option of `tonumpy fix`")
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    arguments, options = parser.parse_args(given[:at]), given[at + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        for copy in (before, after):
            shutil.copytree(arguments.repository, copy, ignore=_IGNORED, symlinks=True)
        _run(after, "-m", "tonumpy", "fix", "--no-cache", *arguments.fix_option, ".")
        edited = edited_rows(before, after)
        by_test = tests_by_row(before, edited, options)
        rows = sum(map(len, edited.values()))
        tests = sorted({test for found in by_test.values() for test in found})
        print(f"{rows} edited lines in {len(edited)} files, {len(by_test)} of them executed by {len(tests)} tests")
        if not tests:
            return 0
        found = compare(tests, *(outcomes(copy, tests, options) for copy in (before, after)))
    print(f"{len(found.executed)} executed, {len(found.skipped)} skipped, {len(found.missing)} missing")
    for line in (*(f"missing: {each}" for each in found.missing), *found.changed):
        print(f"  {line}")
    return 1 if found.missing or found.changed else 0


def edited_rows(before: Path, after: Path) -> dict[str, set[int]]:
    """The rows of each file that differ afterwards, by the file's name in the copy; where lines are inserted, that
    before them."""
    found = {}
    for path in sorted(before.rglob("*.py")):
        name = path.relative_to(before)
        if path.read_bytes() != (after / name).read_bytes():
            old, new = (each.read_text("utf-8", "replace").splitlines() for each in (path, after / name))
            codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            spans = [(first, max(last, first + 1)) for tag, first, last, *_ in codes if tag != "equal"]
            found[str(name)] = {row + 1 for span in spans for row in range(*span)}
    return found


def tests_by_row(copy: Path, edited: dict[str, set[int]], given: list[str]) -> dict[tuple[str, int], set[str]]:
    """The tests that execute each edited line, by the name of the file and the row; no entry for a line of none."""
    _pytest(copy, "--cov=.", "--cov-context=test", "--cov-report=", *given)
    data = CoverageData(str(copy / ".coverage"))
    data.read()
    found = {}
    for name, rows in edited.items():
        contexts = data.contexts_by_lineno(os.path.realpath(copy / name))
        for row in rows:
            tests = {each.rpartition("|")[0] for each in contexts.get(row, ())} - {""}  # "" is what an import runs
            if tests:
                found[name, row] = tests
    return found


def outcomes(copy: Path, tests: list[str], given: list[str]) -> dict[str, str]:
    """What became of each of these tests, of which some may be there no more: passed, failed, error or skipped."""
    files = sorted({test.partition("::")[0] for test in tests})
    _pytest(copy, "--junitxml=outcomes.xml", *given, *files)
    if not (copy / "outcomes.xml").exists():
        return {}
    found, picked = {}, set(map(_name_in_report, tests))
    for case in ElementTree.parse(copy / "outcomes.xml").iter("testcase"):
        kinds = {"failure": "failed", "error": "error", "skipped": "skipped"}
        told = [kinds[child.tag] for child in case if child.tag in kinds]
        name = f"{case.get('classname')}::{case.get('name')}"
        if name in picked:
            found[name] = told[0] if told else "passed"
    return found


def _name_in_report(test: str) -> str:
    """`tests.test_a.TestB::test_c[d]` for `tests/test_a.py::TestB::test_c[d]`."""
    place, bracket, parameters = test.partition("[")
    path, *classes, name = place.split("::")
    return f"{'.'.join((path.removesuffix('.py').replace('/', '.'), *classes))}::{name}{bracket}{parameters}"


def compare(tests: list[str], before: dict[str, str], after: dict[str, str]) -> Comparison:
    both = sorted(before.keys() & after.keys())
    missing = sorted(set(map(_name_in_report, tests)).difference(both))
    skipped = [each for each in both if "skipped" in (before[each], after[each])]
    executed = [each for each in both if each not in set(skipped)]
    changed = [f"{each}: {before[each]} -> {after[each]}" for each in both if before[each] != after[each]]
    return Comparison(executed, skipped, missing, changed)


def _pytest(copy: Path, *arguments: str) -> None:
    _run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments)


def _run(copy: Path, *arguments: str) -> None:
    """Run Python in a copy, whose own packages come before those that are installed; what it says goes to stderr."""
    path = os.pathsep.join((str(copy), str(copy / "src"), os.environ.get("PYTHONPATH", "")))
    env = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, *arguments], cwd=copy, env=env, stdout=sys.stderr, check=False)


if __name__ == "__main__":
    sys.exit(main())
