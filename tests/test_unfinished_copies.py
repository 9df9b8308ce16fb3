"""TNP204 in a rehearsal: what is read before an asynchronous copy towards the host has arrived, and nothing else."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from rehearsal_runs import needs_torch, rehearse

from tonumpy import check_source
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.pipeline import check
from tonumpy.text.source import Source

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

ARRAYS = """
import torch
x = torch.arange(4.0, device="cuda")
buffer = torch.empty(4, pin_memory=True)
array = buffer.numpy()
buffer.copy_(x, non_blocking=True)
print(array.sum())  # TNP204
torch.cuda.synchronize()
print(array.sum())
buffer.copy_(x * 2, non_blocking=True)
torch.cuda.synchronize()
print(array.sum())


def kept(n):
    held = []
    for step in range(n):
        buffer.copy_(x * step, non_blocking=True)
        torch.cuda.synchronize()
        held.append(array.sum())
    return held


def late():
    buffer.copy_(x, non_blocking=True)
    return array.mean()


def local():
    mine = torch.empty(4).pin_memory()
    view = mine.numpy()
    mine.copy_(x, non_blocking=True)
    total = view.sum()  # TNP204
    return total


def waited():
    mine = torch.empty(4).pin_memory()
    view = mine.numpy()
    mine.copy_(x, non_blocking=True)
    x.sum().item()
    return view.sum()


print(kept(3), local(), waited())
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


@pytest.mark.slow
@needs_torch
def test_arrays_that_a_copy_overwrites_are_told_where_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "arrays.py").write_text(ARRAYS)
    result = rehearse(tmp_path, "--", "arrays.py")
    marked = [row for row, line in enumerate(ARRAYS.splitlines(), 1) if "# TNP204" in line]
    assert [(each["location"]["row"], each["code"]) for each in result.findings] == [
        (row, "TNP204") for row in marked
    ], result.err


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
    # There torch refuses a result on the CPU where the operator runs (TensorIteratorBase::compute_types).
    refused = ways["out_pinned"].body[1].lineno
    assert seen == {*expected - {(refused + 1, "TNP204")}, (refused, "TNP109")}, result.err
    wrong = {name for name, way in ways.items() if any(way.lineno <= row <= (way.end_lineno or 0) for row, _ in seen)}
    assert len(wrong) == 24 and {"sync", "sleep", "module", "other_item"}.isdisjoint(wrong)
    lines = [line.split() for line in result.err.splitlines()]
    printed = {first: [float(each) for each in rest] for first, *rest in filter(None, lines) if first in ways}
    assert printed.keys() == ways.keys()
    assert {name: printed[name] for name in ways if name not in RANDOM} == {
        name: [VALUES.get(name, 4)] for name in ways if name not in RANDOM
    }


GENERATORS = """

torch.set_grad_enabled(False)
net, batches = torch.nn.Linear(4, 4), list(torch.ones(4, 4))
for way in ({ways}):
    torch.cuda.synchronize()
    way()
"""
OF_BATCHES = (
    *("in_a_loop in_loops held_first one_by_one through_another handed_on of_an_object of_records".split()),
    *("read_before_that read_behind read_two_later wrapped summed read_by_key wrapped_by_itertools".split()),
    *("of_a_class of_coroutines".split()),
)
OF_OTHERS = (
    "Scorer(net).render(batches[0])",
    "of_any(Scorer(net), batches)",
    "of_one_that_is_annotated(Scorer(net), batches[0])",
    "Trainer(net, batches).run()",
    "within_a_context(batches[0])",
    "of_an_iterator(net, batches[:2])",
)
CLEAN_OF_BATCHES = (
    *("waited_after_all read_a_round_later not_read of_those_that_wait read_when_it_went_on of_an_object".split()),
    *("of_records of_keys".split()),
)
CLEAN_OF_OTHERS = (
    'waited_in_the_loop(net, batches, torch.device("cuda"))',
    "Scorer(net).render(batches[0])",
    "read_there(batches)",
    "after_a_context(batches[0])",
)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("name", "of_batches", "of_others"),
    [("generators", OF_BATCHES, OF_OTHERS), ("clean_generators", CLEAN_OF_BATCHES, CLEAN_OF_OTHERS)],
)
def test_copies_of_generators_are_told_as_a_check_tells_them(
    name: str, of_batches: tuple[str, ...], of_others: tuple[str, ...], tmp_path: Path
) -> None:
    text = WAYS.with_name(f"{name}.py").read_text("utf-8")
    calls = (*(f"{each}(net, batches)" for each in of_batches), *of_others)
    ways = ", ".join(f"lambda: {each}" for each in calls)
    (tmp_path / "ways.py").write_text(text + GENERATORS.format(ways=ways))
    result = rehearse(tmp_path, "--", "ways.py")
    seen = {(each["location"]["row"], each["code"]) for each in result.findings}
    assert seen == {(each.start.row, each.code) for each in check_source(text, select=("TNP204",))}, result.err
    assert "exit code 0" in result.err


MOVES = """
import torch


def to_cpu(value):
    if isinstance(value, dict):
        return {name: to_cpu(each) for name, each in value.items()}
    return value.to("cpu", non_blocking=True)


def waited_to_cpu(value):
    found = value.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    return found


def to_device(value, device):
    return value.to(device, non_blocking=True)
"""
USE = """
import torch
from package import moves
from package.moves import to_cpu, to_device, waited_to_cpu


def read(x: torch.Tensor):
    x = x.detach().cuda()
    to_cpu(x).numpy()
    moves.to_cpu({"a": x})["a"].numpy()
    to_device(x, "cpu").numpy()
    waited_to_cpu(x).numpy()
    to_device(x, "cuda").cpu().numpy()
    kept = to_cpu(x)
    torch.cuda.synchronize()
    return kept.numpy()
"""


def test_a_helper_of_another_file_makes_the_copy(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "moves.py").write_text(MOVES)
    source = Source.from_text(USE, str(folder / "use.py"))
    found = [each for each in check(source, Settings(), Project()) if each.code == "TNP204"]
    assert [(each.start.row, each.fix and each.fix.edits) for each in found] == [(9, None), (10, None), (11, None)]
    assert "of moves.py:8 may still be copying" in found[0].message
    assert found[0].evidence[-1].filename == str(folder / "moves.py")


SPELLINGS = (
    'x.to("cpu", non_blocking=True)',
    'x.to(device="cpu", non_blocking=True)',
    'x.to(torch.device("cpu"), non_blocking=True)',
    'x.to("cpu", dtype=torch.float64, non_blocking=True)',
    'x.to("cpu", torch.float64, True)',
    "x.to(torch.zeros(1), non_blocking=True)",
    'x.type("torch.FloatTensor", non_blocking=True)',
    "x.type(torch.FloatTensor, non_blocking=True)",
    "torch.empty(3, pin_memory=True).copy_(x, non_blocking=True)",
)
ONE_WAY = """
from typing import NamedTuple
import torch


class Record(NamedTuple):
    number: int
    value: torch.Tensor


class Maker:
    def copied(self, x):
        return {copy}

    def keep(self, x):
        self.host = {copy}

    def peak(self):
        return self.host.tolist()

    def again(self, x):
        return self.copied(x).tolist()

    @property
    def latest(self):
        return self.host

    def pairs(self, xs):
        for n, x in enumerate(xs):
            yield n, {copy}

    def __iter__(self):
        for x in [torch.ones(3).cuda()]:
            yield {copy}


def rounds(xs):
    for x in xs:
        yield {copy}


def rounds_of_others(xs):
    yield from rounds(xs)


def helper(x):
    return {copy}


def outer(x):
    return helper(x)


def first(x):
    return second(x)


def second(x):
    return third(x)


def third(x):
    return outer(x)


short = lambda x: {copy}


def many(xs):
    return {{"a": [{copy} for x in xs]}}


def record(x):
    return Record(3, {copy})


def entry(x: torch.Tensor, xs: list[torch.Tensor]):
    x = x.detach().cuda()
    maker = Maker()
{body}
"""
WAYS_OUT = {
    "directly": "return {copy}.tolist()",
    "by a name": "y = {copy}; {between}; return y.tolist()",
    "by a function": "y = helper(x); {between}; return y.tolist()",
    "by a function of a function": "y = outer(x); {between}; return y.tolist()",
    "by five functions": "y = first(x); {between}; return y.tolist()",
    "by a lambda": "y = short(x); {between}; return y.tolist()",
    "by a method": "y = maker.copied(x); {between}; return y.tolist()",
    "by an attribute": "maker.keep(x); {between}; return maker.host.tolist()",
    "by an attribute that a method reads": "maker.keep(x); {between}; return maker.peak()",
    "by a property": "maker.keep(x); {between}; return maker.latest.tolist()",
    "by a field": "y = record(x); {between}; return y.value.tolist()",
    "by a generator": "for y in rounds([x]): {between}; return y.tolist()",
    "by a generator of a generator": "for n, y in enumerate(rounds_of_others([x])): {between}; return y.tolist()",
    "by a generator's next": "y = next(rounds([x])); {between}; return y.tolist()",
    "by a list of a generator": "ys = list(rounds([x])); {between}; return [y.tolist() for y in ys]",
    "by a method that is a generator": "for n, y in maker.pairs([x]): {between}; return y.tolist()",
    "by an object": "for y in maker: {between}; return y.tolist()",
    "by containers": 'ys = many([x.cuda() for x in xs]); {between}; return [y.tolist() for y in ys["a"]]',
}
READ_BY_METHODS = {19, 22}  # told of whatever the last function does


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("copy", SPELLINGS)
def test_each_spelling_is_told_on_each_way_out_of_its_function(copy: str, way: str) -> None:
    def rows(between: str) -> set[int]:
        line = WAYS_OUT[way].format(copy=copy, between=between)
        text = ONE_WAY.format(copy=copy, body=f"    {line}")
        return {each.start.row for each in check_source(text, select=("TNP204",))}

    read = 19 if way == "by an attribute that a method reads" else len(ONE_WAY.splitlines())
    assert read in rows("print()")
    waited = rows("torch.cuda.synchronize()") - (READ_BY_METHODS - {read})
    assert waited == ({read} if way == "directly" else set())
