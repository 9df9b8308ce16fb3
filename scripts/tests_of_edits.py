"""Run the tests of a repository that execute lines which `tonumpy fix` edits, before the fix and after it.

    python scripts/tests_of_edits.py REPOSITORY [--fix-option=--unsafe-fixes ...] [-- PYTEST_ARGUMENT ...]

Works on two copies of the repository. Its tests run under coverage in the first; those that execute an edited line run
in the second, too. They are counted by whether they were executed, skipped (in either run) or missing (in either run),
and those with another outcome are named. The exit code is 1 if a test has another outcome or is missing. Needs
pytest-cov.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

_IGNORED = shutil.ignore_patterns(".git", "__pycache__", ".tox", ".venv", "build")
_REPORT = "TESTS_OF_EDITS"  # the variable that names the file in which a run of pytest notes the outcomes
_outcomes: dict[str, str] = {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--fix-option", action="append", default=[], help="an option of `tonumpy fix`")
    parser.add_argument("pytest", nargs="*", metavar="PYTEST_ARGUMENT")
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        for copy in (before, after):
            shutil.copytree(arguments.repository, copy, ignore=_IGNORED, symlinks=True)
        _run(after, "-m", "tonumpy", "fix", "--no-cache", *arguments.fix_option, ".")
        edited = edited_rows(before, after)
        coverage = ("--cov=.", "--cov-context=test", "--cov-report=", f"--cov-config={os.devnull}")
        old = outcomes(before, [], *coverage, *arguments.pytest)
        reached = tests_by_row(before, edited)
        tests = sorted(set().union(*reached.values()))
        rows = sum(map(len, edited.values()))
        print(f"{rows} edited lines in {len(edited)} files, {len(reached)} of them executed by {len(tests)} tests")
        if lost := [name for name, outcome in old.items() if outcome == "not collected"]:
            print(f"{len(lost)} files of tests cannot be collected")
        new = outcomes(after, tests, *arguments.pytest) if tests else {}
    return compare(tests, old, new)


def compare(tests: list[str], old: dict[str, str], new: dict[str, str]) -> int:
    pairs = {test: (old.get(test, "missing"), new.get(test, "missing")) for test in tests}
    kinds = Counter(
        next((each for each in pair if each in ("missing", "skipped")), "executed") for pair in pairs.values()
    )
    print(", ".join(f"{kinds[kind]} {kind}" for kind in ("executed", "skipped", "missing")))
    changed = [f"  {test}: {one} -> {other}" for test, (one, other) in pairs.items() if one != other]
    print("\n".join(changed), end="\n" if changed else "")
    return 1 if changed else 0


def edited_rows(before: Path, after: Path) -> dict[str, set[int]]:
    """The rows of each file that differ afterwards; where lines are inserted, the row before them."""
    found = {}
    for path in sorted(before.rglob("*.py")):
        name = path.relative_to(before)
        if path.is_file() and path.read_bytes() != (after / name).read_bytes():
            old, new = (each.read_text("utf-8", "replace").splitlines() for each in (path, after / name))
            codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            spans = [(first, max(last, first + 1)) for tag, first, last, *_ in codes if tag != "equal"]
            found[str(name)] = {row + 1 for span in spans for row in range(*span)}
    return found


def tests_by_row(copy: Path, edited: dict[str, set[int]]) -> dict[tuple[str, int], set[str]]:
    """The tests that execute each edited line, by the name of the file and the row; no entry for a line of none."""
    from coverage import CoverageData

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


def outcomes(copy: Path, picked: list[str], *arguments: str) -> dict[str, str]:
    """The outcome of each test that pytest runs, of the picked ones if any: passed, failed or skipped."""
    (copy / _REPORT).write_text(json.dumps(picked), "utf-8")
    options = ("-q", "--continue-on-collection-errors", "-p", Path(__file__).stem, "-p", "no:cacheprovider")
    _run(copy, "-m", "pytest", *options, *arguments)
    found = json.loads((copy / _REPORT).read_text("utf-8"))
    return found if isinstance(found, dict) else sys.exit("pytest did not run to its end")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    picked = set(json.loads(Path(os.environ[_REPORT]).read_text("utf-8")))
    items[:] = [each for each in items if not picked or each.nodeid in picked]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _outcomes[report.nodeid] = "not collected"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    Path(os.environ[_REPORT]).write_text(json.dumps(_outcomes), "utf-8")


def _run(copy: Path, *arguments: str) -> None:
    """Run Python in a copy, whose own packages come before those that are installed; what it says goes to stderr."""
    path = os.pathsep.join(map(str, (copy, copy / "src", Path(__file__).parent, os.environ.get("PYTHONPATH", ""))))
    env = {**os.environ, "PYTHONPATH": path, _REPORT: str(copy / _REPORT)}
    subprocess.run([sys.executable, *arguments], cwd=copy, env=env, stdout=sys.stderr, check=False)


if __name__ == "__main__":
    sys.exit(main())
