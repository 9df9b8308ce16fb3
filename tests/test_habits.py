"""Every habit's page holds: its example is silent by default, and shown at low confidence for that habit alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import RunTonumpy

from tonumpy import check_source
from tonumpy.inference.habits import Habit, all_habits

HABITS = [pytest.param(habit, id=habit.id) for habit in all_habits()]
# What these say is that something is no tensor: then nothing is converted, and no finding is left to show.
_OF_KIND = ("dtype-name", "settings-object")


@pytest.mark.parametrize("habit", HABITS)
def test_the_page_has_its_parts(habit: Habit) -> None:
    assert re.findall("^#.*", habit.page, re.MULTILINE)[1:] == ["## What it believes", "## Why", "## Example"]
    assert habit.page.splitlines()[0].endswith(f"({habit.id})")


@pytest.mark.parametrize("habit", HABITS)
def test_its_example_rests_on_it(habit: Habit, tmp_path: Path) -> None:
    example = habit.page.partition("```python\n")[2].partition("```")[0]
    name = str(tmp_path / ("test_example.py" if "def test_" in example else "example.py"))
    assert check_source(example, name) == []
    if habit.id not in _OF_KIND:
        found = check_source(example, name, confidence="low")
        assert {finding.confidence for finding in found} == {"low"}
        assert habit.id in {ground.id for finding in found for ground in finding.evidence}
    assert check_source(example, name, disable_habits=(habit.id,)) != []


def test_the_list_and_the_pages(run_tonumpy: RunTonumpy) -> None:
    done = run_tonumpy("habits")
    assert (done.code, len(done.out.splitlines())) == (0, len(all_habits()))
    assert run_tonumpy("explain", "habit/label-name").out.startswith("# What is called a label")
    assert "did you mean `label-name`?" in run_tonumpy("explain", "habit/lable-name").err


def test_a_habit_that_there_is_not(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\ndisable-habits = ["lable-name"]\n')
    (tmp_path / "m.py").write_text("import torch\nx.numpy()\n")
    done = run_tonumpy("check", "m.py")
    assert done.code == 2
    assert "there is no habit `lable-name`; did you mean `label-name`?" in done.err
