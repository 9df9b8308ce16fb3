"""docs/false-alarms.md: each way out silences what it says, and ruff does to the comments what is said of it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from readme import ROOT

from tonumpy import check_source

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "false-alarms.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WAYS = {
    r"    assert .*\n": "",
    r": Image": "",
    r"  # noqa.*": "",
}


@pytest.mark.parametrize(("example", "way"), list(zip(EXAMPLES, WAYS, strict=True)))
def test_an_example_is_silent_and_loud_without_its_way(example: str, way: str) -> None:
    assert check_source(example) == []
    without, count = re.subn(way, WAYS[way], example)
    assert count == 1
    assert [finding.code for finding in check_source(without)] == ["TNP101"]


def test_ruff_keeps_the_comments_that_it_is_told_of(tmp_path: Path) -> None:
    (table,) = re.findall(r"^```toml\n(\[tool\.ruff.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    def after_ruff(configuration: str) -> str:
        (tmp_path / "pyproject.toml").write_text(configuration)
        (tmp_path / "a.py").write_text(EXAMPLES[2])
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--preview", "--fix", "--select=RUF102", "a.py"]
        subprocess.run(command, cwd=tmp_path, capture_output=True)
        return (tmp_path / "a.py").read_text()

    assert "noqa" not in after_ruff("")
    assert after_ruff(table) == EXAMPLES[2]
