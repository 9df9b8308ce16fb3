"""Each table of a library says with which version it was measured, and PyPI still gives that version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TABLES = Path(__file__).parent.parent / "src" / "tonumpy" / "detectors" / "libraries"
MEASURED = {path.stem: json.loads(path.read_text("utf-8"))["measured"].split(",")[0] for path in TABLES.glob("*.json")}
PACKAGES = {root: words.split(" ") for root, words in MEASURED.items() if not words.startswith(("Python ", "CuPy on "))}


@pytest.mark.parametrize("root", sorted(PACKAGES))
def test_a_table_names_a_package_and_its_version(root: str) -> None:
    name, version = PACKAGES[root]
    assert name and version[0].isdigit()


@pytest.mark.slow
@pytest.mark.skipif("TONUMPY_LONG_RUN" not in os.environ, reason="asks PyPI: set TONUMPY_LONG_RUN")
@pytest.mark.parametrize("root", sorted(PACKAGES))
def test_pypi_gives_the_version_of_a_table(root: str) -> None:
    """Asked of the index alone: some of these packages are of hundreds of megabytes."""
    name, version = PACKAGES[root]
    command = [sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check", "--pre", name]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    _, _, listed = run.stdout.partition("Available versions:")
    assert version in listed.partition("\n")[0].replace(",", " ").split(), run.stdout
