"""What a run has seen, put to the source: rows alone (as Python 3.10 has them), arguments, records."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tonumpy.config import ConfigError, Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import Observed
from tonumpy.judgements import judge_seen
from tonumpy.observed.observed_conversions import seen_in
from tonumpy.observed.record import Record, read_record
from tonumpy.observed.sighting import Sighting, Spot
from tonumpy.pipeline import module_of
from tonumpy.rehearsal.events import Call, Event
from tonumpy.rehearsal.frames import names_of
from tonumpy.rehearsal.judging import sightings_of
from tonumpy.rehearsal.spool import Recorder, read_run
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

    from tonumpy.findings import Finding
    from tonumpy.observed.sighting import What

ON_DEVICE = Observed(
    "cuda:0", False, "torch.float32", "torch.strided", (2,), 3, ("device",), "TypeError: can't convert"
)


def spot_of(text: str, part: str) -> Spot:
    """Of an expression, as Python tells it: that which is written there, and no longer one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr) and ast.get_source_segment(text, node) == part:
            return Spot(node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    raise AssertionError(part)


def judged(text: str, spot: Spot, *held: Held, method: bool = False, observed: Observed = ON_DEVICE) -> list[Finding]:
    source = Source.from_text(text, "a.py")
    sighting = Sighting(spot, "conversion", method, True, None, observed, held)
    module = module_of(source, Settings(), Project())
    return [each.finding for each in judge_seen(module, Settings(), seen_in(module, [sighting]))]


def told(text: str, part: str, *held: Held, method: bool = False, rows: bool = False) -> tuple[str, str, str | None]:
    """The code, the text that is pointed at and the repair."""
    spot = spot_of(text, part)
    (finding,) = judged(text, Spot(spot.row) if rows else spot, *held, method=method)
    source = Source.from_text(text, "a.py")
    there = source.text[source.offset(finding.start) : source.offset(finding.end)]
    return finding.code, there, finding.fix and finding.fix.message.partition(" to ")[0]


@pytest.mark.parametrize("rows", [False, True], ids=["columns", "rows alone"])
@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("x.numpy()\n", "x.numpy()", ("TNP101", "numpy()", "Add `.detach().cpu()`")),
        (
            "y = [(\n  x\n  .detach()\n  .numpy()\n)]\n",
            "x\n  .detach()\n  .numpy()",
            ("TNP103", "numpy()", "Add `.cpu()`"),
        ),
        ("f = lambda x: x.numpy()\n", "x.numpy()", ("TNP101", "numpy()", "Add `.detach().cpu()`")),
        ("ä = 'ö', x.numpy()\n", "x.numpy()", ("TNP101", "numpy()", "Add `.detach().cpu()`")),
        ("x.data.numpy()\n", "x.data.numpy()", ("TNP103", "numpy()", "Add `.detach().cpu()`")),
    ],
)
def test_a_call_of_the_method(text: str, part: str, expected: tuple[str, str, str | None], *, rows: bool) -> None:
    assert told(text, part, method=True, rows=rows) == expected


def test_of_several_in_a_row_none_is_taken_for_another() -> None:
    text = "pair = x.numpy(), y.numpy()\n"
    assert told(text, "y.numpy()", method=True)[1:] == ("numpy()", "Add `.detach().cpu()`")
    assert told(text, "y.numpy()", method=True, rows=True) == ("TNP101", text.strip(), None)


Held = tuple[tuple[str, str], ...]
NAMED: Held = (("y", "itself"),)
LISTED: Held = (("ys", "items"),)


@pytest.mark.parametrize(
    ("text", "held", "expected"),
    [
        ("lib.plot(x, y)", NAMED, ("TNP104", "y", "Add `.detach().cpu().numpy()`")),
        ("lib.plot(x, ys)", LISTED, ("TNP104", "ys", None)),
        ("lib.plot(f(x), g(x))", (), ("TNP104", "lib.plot(f(x), g(x))", None)),
        ("lib.plot(Shape(y))", (), ("TNP104", "Shape(y)", None)),
        ("lib.plot([y, 1])", NAMED, ("TNP104", "y", "Add `.detach().cpu().numpy()`")),
        ("lib.plot('r', *ys)", (), ("TNP104", "lib.plot('r', *ys)", None)),
        ("y - array", NAMED, ("TNP108", "y", "Add `.detach().cpu().numpy()`")),
        ("array / y", NAMED, ("TNP108", "y", "Add `.detach().cpu().numpy()`")),
        ("array[y]", NAMED, ("TNP108", "y", "Add `.detach().cpu().numpy()`")),
        ("obj.value", (), ("TNP104", "obj.value", None)),
    ],
)
def test_what_converts_without_the_method(text: str, held: Held, expected: tuple[str, str, str | None]) -> None:
    assert told(f"found = {text}\n", text, held) == expected


@pytest.mark.parametrize(("made", "how"), [("", "unsafe"), ("y = torch.ones(2, device='cuda')\n", "safe")])
def test_what_is_put_into_an_array(made: str, how: str) -> None:
    """An array may come there at other times, if the text does not say that it is a tensor."""
    row = 2 + bool(made)
    (finding,) = judged(f"import torch\n{made}array[1:] = y\n", Spot(row, row, 0, 9), NAMED)
    assert (finding.code, finding.start, finding.fix and finding.fix.applicability) == ("TNP108", (row, 13), how)


@pytest.mark.parametrize(
    ("made", "call", "how"),
    [
        ("", "np.asarray(y)", "unsafe"),
        ("y = load()\n", "np.float32(y)", "unsafe"),
        ("y = torch.ones(2, device='cuda')\n", "np.array(y)", "safe"),
        ("y = torch.ones(2) if f else torch.ones(2, device='cuda')\n", "np.asarray(y)", "safe"),
        ("y = torch.ones(2, device='cuda') if f else np.ones(2)\n", "np.asarray(y)", "unsafe"),
        ("y = torch.ones(2, device='cuda') if f else 0\n", "np.asarray(y)", "unsafe"),
        ("y = torch.ones(2, device='cuda')\n", "np.asarray([y, 1])", "safe"),
        ("", "np.asarray([y, 1])", "unsafe"),
        ("ys = [torch.ones(2, device='cuda')]\n", "np.asarray([y for y in ys])", "safe"),
        ("", "np.asarray(y.detach())", "safe"),
    ],
)
def test_a_repair_is_safe_where_the_text_knows_a_tensor(made: str, call: str, how: str) -> None:
    text = f"import numpy as np\nimport torch\n{made}{call}\n"
    (finding,) = judged(text, spot_of(text, call), NAMED)
    assert (finding.code, finding.fix and finding.fix.applicability) == ("TNP104", how)


@pytest.mark.parametrize(
    ("what", "code", "fix"),
    [("shared write", "TNP201", ("unsafe", "Add `.copy()` after `.numpy()`")), ("lost gradient", "TNP203", None)],
)
def test_what_comes_of_a_conversion_later(what: What, code: str, fix: tuple[str, str] | None) -> None:
    source = Source.from_text("import torch\nkept = x.detach().cpu().numpy()\n", "a.py")
    passed = ON_DEVICE._replace(reasons=(), error="")
    sighting = Sighting(spot_of(source.text, "x.detach().cpu().numpy()"), what, True, False, None, passed, (), passed)
    module = module_of(source, Settings(), Project())
    (judgement,) = judge_seen(module, Settings(), seen_in(module, [sighting]))
    found = judgement.finding
    assert (found.code, found.start, found.confidence) == (code, (2, 25), "observed")
    assert (found.fix and found.fix[:2]) == fix


def test_an_event_is_counted_and_comes_home(tmp_path: Path) -> None:
    """Of a worker that is killed, too: all is written when it happens."""
    (tmp_path / "own.py").write_text("x.numpy()\n")
    call = Call(str(tmp_path / "own.py"), 1, "<module>", 1, 0, 9)
    refused = Event("numpy", ("grad",), "cpu", True, True, "torch.float32", "torch.strided", (2,), (call,), ("A", "b"))
    recorder = Recorder(str(tmp_path))
    for event in (refused, refused, refused._replace(requires_grad=False, reasons=(), error=None)):
        recorder(event, None)
    with open(next(tmp_path.glob("events-*")), "ab") as stream:
        stream.write(b'{"way": ')
    (sighting,) = sightings_of(read_run(str(tmp_path)).events)[str(tmp_path / "own.py")]
    assert (sighting.is_refused, sighting.is_method, sighting.observed.times) == (True, True, 2)
    assert sighting.passed is not None
    assert sighting.passed.times == 1


def test_who_holds_a_tensor() -> None:
    class Owner:
        def __init__(self) -> None:
            self.kept = [tensor]

        def called(self, first: object, *rest: object, data: object = None) -> object:
            return self, first, rest, data, sys._getframe()

    tensor = object()
    owner, listed, other = Owner(), {"a": tensor}, 1
    names = names_of(tensor, sys._getframe()), owner.kept, listed["a"], other
    held = {("tensor", "itself"), ("listed", "values"), ("listed['a']", "itself"), ("owner.kept", "items")}
    assert set(names[0]) == held


def sighted(spot: Spot) -> Sighting:
    return Sighting(spot, "conversion", True, True, None, ON_DEVICE, (NAMED,), ON_DEVICE._replace(reasons=(), times=9))


def test_a_record_is_what_it_was(tmp_path: Path) -> None:
    source = Source.from_text("x.numpy()\n", str(tmp_path / "a.py"))
    record = Record({}).merged([(source, [sighted(Spot(1, 1, 0, 9))])], str(tmp_path))
    (tmp_path / "seen.json").write_text(record.as_text())
    assert read_record(str(tmp_path / "seen.json")).sightings(source, str(tmp_path)) == [sighted(Spot(1, 1, 0, 9))]
    assert str(tmp_path) not in record.as_text()


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        ("import a\n\n  # more\nif 1:\n    x.numpy()\n", Spot(5, 5, 4, 13)),
        ("x.numpy( )\n", None),
        ("1\nx.numpy()\nx.numpy()\n", None),  # which of the two it was is not known
    ],
)
def test_a_line_is_looked_for_by_its_text(tmp_path: Path, text: str, spot: Spot | None) -> None:
    source = Source.from_text("x.numpy()\n", str(tmp_path / "a.py"))
    record = Record({}).merged([(source, [sighted(Spot(1, 1, 0, 9))])], str(tmp_path))
    moved = Source.from_text(text, str(tmp_path / "a.py"))
    assert record.sightings(moved, str(tmp_path)) == ([] if spot is None else [sighted(spot)])


@pytest.mark.parametrize(
    "change", [{"row": "one"}, {"row": 1e999}, {"refused": 1}, {"held": [1]}, {"what": "all"}, {"passed": {}}]
)
def test_a_record_of_a_strangers_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    source = Source.from_text("x.numpy()\n", str(tmp_path / "a.py"))
    said = json.loads(Record({}).merged([(source, [sighted(Spot(1, 1, 0, 9))])], str(tmp_path)).as_text())
    said["files"]["a.py"][0].update(change)
    path = tmp_path / "seen.json"
    path.write_text(json.dumps(said))
    with pytest.raises(ConfigError, match=r"seen\.json: cannot be read as observations: "):
        read_record(str(path))


def test_a_record_of_the_settings_is_used(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    text = "def f(x):\n    return x.numpy()\n"
    source = Source.from_text(text, str(tmp_path / "a.py"))
    record = Record({}).merged([(source, [sighted(spot_of(text, "x.numpy()"))])], str(tmp_path))
    (tmp_path / "seen.json").write_text(record.as_text())
    (tmp_path / "a.py").write_text(text)
    assert run_tonumpy("check").code == 0  # the file speaks of no tensors
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nobserved = "seen.json"\n')
    result = run_tonumpy("check", "--show-evidence")
    assert (result.code, "a.py:2:14: TNP101" in result.out) == (1, True)
    seen = "run rehearsal, a.py:2: fails (TypeError: can't convert), seen 3 times: cuda:0, float32, shape (2,); not "
    assert seen in result.out


def test_flake8_takes_no_notice_of_records(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nobserved = "missing.json"\n')
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n")
    command = [sys.executable, "-m", "flake8", "--select", "TNP", "a.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("a.py:5:14: TNP101"), done.stdout + done.stderr
