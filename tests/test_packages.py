"""Modules that are run, in a package and by themselves: who else may call what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tonumpy import check_source

if TYPE_CHECKING:
    from pathlib import Path

DEMONSTRATED = b"""
import torch


class Evaluator:
    def evaluate(self, scores):
        return self._ranked(scores)

    def _ranked(self, scores):
        return scores.cpu().numpy()


def shown(scores):
    return scores.cpu().numpy()


if __name__ == "__main__":
    Evaluator().evaluate(torch.zeros(3))
    shown(torch.zeros(3))
"""


@pytest.mark.parametrize(("is_package", "rows"), [(False, []), (True, [10])])
def test_a_class_in_a_package_is_there_for_others_too(tmp_path: Path, is_package: bool, rows: list[int]) -> None:
    if is_package:
        (tmp_path / "__init__.py").touch()
    found = check_source(DEMONSTRATED, str(tmp_path / "evaluation.py"))
    assert [finding.start.row for finding in found] == rows
