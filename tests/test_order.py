"""What is found does not depend on the order of functions: each limit is one question's own."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from fixture_format import FOLDER
from permuting import permuted, with_rows

import tonumpy
from tonumpy import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tonumpy import Finding

SEEDS = int(os.environ.get("TONUMPY_SEEDS", "1"))  # of each fixture; the first turns the order round
FILES = [
    path
    for path in sorted(FOLDER.rglob("*.py"))
    if not path.name.endswith(".fixed.py") and "numpy" in path.read_text("utf-8", "replace")
]

Found = Counter[tuple[int, int, str, str, str]]


def found_in(text: str, path: Path, row_before: Callable[[int], int] = int) -> Found:
    """Without the evidence, whose rows are others."""
    findings: list[Finding] = tonumpy.check_source(text, str(path), select=["TNP"], confidence="low")
    return Counter(
        (row_before(each.start.row), each.start.column, each.code, each.confidence, with_rows(each.message, row_before))
        for each in findings
    )


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({path.relative_to(FOLDER).parts[0] for path in FILES}))
def test_the_order_of_functions_changes_no_finding(folder: str) -> None:
    permutations = 0
    for path in FILES:
        if path.relative_to(FOLDER).parts[0] != folder or "recursion" in path.name:
            continue  # where what depends on itself is cut hangs on where it is begun
        text = path.read_bytes().decode("utf-8", "replace")
        for seed in range(SEEDS):
            other = permuted(text, random.Random(seed).shuffle if seed else list.reverse)
            if other is None:
                break
            try:
                before = found_in(text, path)
            except SourceError:
                break  # this Python cannot parse it
            permutations += 1
            assert found_in(other.text, path, other.row_before) == before, f"{path.name}, seed {seed}"
    assert permutations or folder in ("notebooks", "noqa", "rewrite")


def body(statements: int) -> str:
    return "    x = x + 1\n" * statements


PARTS = (
    "def a():\n    x = big(torch.zeros(3))\n    return (x + helper()).numpy()\n",
    "def b():\n    return helper().numpy()\n",
    "def big(x):\n{big}    return x\n",
    "def mid(x):\n{mid}    return x\n",
    "def deep():\n    return torch.zeros(3)\n",
    "def helper():\n    y = mid(torch.zeros(3))\n    return y + deep()\n",
)


@pytest.mark.slow
@pytest.mark.parametrize("big", [1500, 3500])
@pytest.mark.parametrize("confidence", ["low", "medium"])
def test_what_one_question_spends_is_no_loss_to_another(big: int, confidence: str) -> None:
    """Of what was asked first, `helper` was worked out with what `big` had left, and `b` was given that."""
    parts = [part.format(big=body(big), mid=body(1200)) for part in PARTS]
    found = []
    for order in (parts, [parts[1], parts[0], *parts[2:]], parts[::-1]):
        text = "\n\n".join(("import torch\n", *order))
        findings = tonumpy.check_source(text, confidence=confidence)
        rows = text.splitlines()
        found.append(sorted((rows[each.start.row - 1], each.code, each.message) for each in findings))
    assert found[0] == found[1] == found[2]
