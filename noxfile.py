"""The suite on every Python at hand, and the checks: `nox` runs all of them, `nox -s lint` one."""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    session.install("-e", ".[test]")
    session.run("pytest", "--slow", *session.posargs)


@nox.session(python="3.10")
def floor(session: nox.Session) -> None:
    """The oldest dependencies that pyproject.toml allows."""
    session.install("-e", ".[test]", "flake8==6.0.0", "libcst==1.5.0")
    session.run("pytest", "--slow", *session.posargs)


@nox.session(python="3.11")
def older_torch(session: nox.Session) -> None:
    """The stand-in, and programs that are rehearsed from their start to the report, on an older torch; the other
    sessions have the newest that is supported."""
    session.install("-e", ".[test]")
    session.install("torch==2.6.0")
    names = "standin*", "rehears*", "mixed_devices", "unfinished_copies", "taken", "children", "sent_tensors"
    tests = {str(path) for name in names for path in Path("tests").glob(f"test_{name}.py")}
    tests.remove("tests/test_standin_faithful.py")  # it builds a device in C++, which is written for the newest torch
    session.run("pytest", "--slow", *sorted(tests))


@nox.session
def lint(session: nox.Session) -> None:
    session.install("ruff")
    session.run("ruff", "check")


@nox.session(python="3.11")
def types(session: nox.Session) -> None:
    session.install("-e", ".[test]")
    session.run("mypy")
