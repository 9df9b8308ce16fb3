"""TNP204 in a rehearsal: what is read before an asynchronous copy towards the host has arrived, and nothing else."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from rehearsal_runs import needs_torch, rehearse

from tonumpy import check_source

PROGRAM = Path(__file__).with_name("unfinished_copies_program.py")
HELPER = """
import torch


def to_cpu(values):
    return {name: value.detach().to("cpu", non_blocking=True) for name, value in values.items()}


found = to_cpu({"scores": torch.arange(4.0, device="cuda")})
assert found["scores"].is_pinned()
print(found["scores"].numpy().tolist())
later = to_cpu({"scores": torch.arange(4.0, device="cuda")})
torch.cuda.synchronize()
print(later["scores"].numpy().tolist())
"""


@pytest.mark.slow
@needs_torch
def test_what_is_read_too_early_is_told(tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path / "program.py")
    result = rehearse(tmp_path, "--", "program.py")
    marked = [row for row, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "# TNP204" in line]
    assert sorted({each["location"]["row"] for each in result.findings}) == marked, result.err
    assert {each["code"] for each in result.findings} == {"TNP204"}
    assert result.code == 1


@pytest.mark.slow
@needs_torch
def test_the_place_of_the_copy_is_told_and_the_values_are_right(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    result = rehearse(tmp_path, "--", "helper.py")
    assert result.err.startswith("[0.0, 1.0, 2.0, 3.0]\n[0.0, 1.0, 2.0, 3.0]\n"), result.err
    (finding,) = result.findings
    assert (finding["location"]["row"], finding["code"], finding["confidence"]) == (11, "TNP204", "observed")
    assert finding["message"] == (
        "this reads what an asynchronous copy (made at helper.py:6) gives, and nothing waited for that: the data may be"
        " wrong"
    )


WAYS = Path(__file__).parents[1] / "fixtures/TNP204/measured_ways.py"
DRIVER = """

for way in ({names}):
    torch.cuda.synchronize()
    found = way()
    print(way.__name__, *np.unique(found if isinstance(found, (np.ndarray, list, float)) else found[0]))
"""
# What is in the arrays; of the others all is 4. A network's own numbers are random.
VALUES = {"arithmetic": 5, "out_pinned": 5, "side_stream_own": 8, "small_item": 64, "floatof": 64, "pred": 0}
RANDOM = ("module", "grad")
MISSED = (
    "type_",
    "copy_pinned",
    "copy_pinned_method",
)  # by a check; event_early, whose event is of before the copy, and foreach are missed by both


@pytest.mark.slow
@needs_torch
def test_each_measured_way_is_told_as_a_check_tells_it_and_gives_right_values(tmp_path: Path) -> None:
    text = WAYS.read_text("utf-8")
    ways = {each.name: each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
    assert len(ways) == 40
    (tmp_path / "ways.py").write_text(text + DRIVER.format(names=", ".join(ways)))
    result = rehearse(tmp_path, "--", "ways.py")
    seen = {(each["location"]["row"], each["code"]) for each in result.findings}
    expected = {(each.start.row, each.code) for each in check_source(text, select=("TNP204",))}
    missed = {(ways[name].end_lineno, "TNP204") for name in MISSED}
    # There torch refuses a result on the CPU where the operator runs (TensorIteratorBase::compute_types).
    assert seen == {*expected, *missed, (ways["out_pinned"].body[1].lineno, "TNP109")}, result.err
    wrong = {name for name, way in ways.items() if any(way.lineno <= row <= (way.end_lineno or 0) for row, _ in seen)}
    assert len(wrong) == 22 and {"sync", "sleep", "module", "other_item"}.isdisjoint(wrong)
    lines = [line.split() for line in result.err.splitlines()]
    printed = {first: [float(each) for each in rest] for first, *rest in filter(None, lines) if first in ways}
    assert printed.keys() == ways.keys()
    assert {name: printed[name] for name in ways if name not in RANDOM} == {
        name: [VALUES.get(name, 4)] for name in ways if name not in RANDOM
    }


SPELLINGS = (
    'x.to("cpu", non_blocking=True)',
    'x.to(device="cpu", non_blocking=True)',
    'x.to(torch.device("cpu"), non_blocking=True)',
    'x.to("cpu", dtype=torch.float64, non_blocking=True)',
    'x.to("cpu", torch.float64, True)',
    "x.to(torch.zeros(1), non_blocking=True)",
)
ONE_WAY = """
import torch


def entry(self, x: torch.Tensor, xs: list[torch.Tensor]):
    x = x.detach().cuda()
    {body}
"""
WAYS_OUT = {
    "directly": "return {copy}.tolist()",
    "by a name": "y = {copy}; {between}; return y.tolist()",
    "by an attribute": "self.host = {copy}; {between}; return self.host.tolist()",
}


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("copy", SPELLINGS)
def test_each_spelling_is_told_on_each_way_out_of_its_name(copy: str, way: str) -> None:
    def rows(between: str) -> set[int]:
        text = ONE_WAY.format(body=WAYS_OUT[way].format(copy=copy, between=between))
        return {each.start.row for each in check_source(text, select=("TNP204",))}

    read = {len(ONE_WAY.splitlines())}
    assert rows("print()") == read
    assert rows("torch.cuda.synchronize()") == (read if way == "directly" else set())
