"""`tonumpy why`, `--confidence` and `--show-evidence`, as a user starts them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import RunTonumpy
from test_diff_base import commit

from tonumpy import check_source
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.pipeline import check
from tonumpy.text.source import Source
from tonumpy.why import explain

FIXTURES = Path(__file__).parents[1] / "fixtures"

MODULE = """\
import torch


def score(labels):
    return labels.cpu().numpy()


def weight(x: torch.Tensor):
    return x.cuda().numpy()


def anything(x):
    return x.numpy()
"""


def test_why_not(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    done = run_tonumpy("why", "m.py:5")
    assert done.code == 0
    assert done.out == (
        "m.py:5:25: `labels.cpu()`\n"
        "  TNP102 (low confidence): `.cpu()` without `.detach()` before `.numpy()` on a likely tensor that may require"
        " grad: can raise RuntimeError\n"
        "    not reported: only medium confidence and above is reported; `--confidence low` reports it\n"
        "  kind: likely torch tensor, by how it is used\n"
        "    code, m.py:5: true from this line on\n"
        "        5 | return labels.cpu().numpy()\n"
        "    to fix: annotate it, or test `isinstance(x, torch.Tensor)`\n"
        "  device: on the CPU (the chain moves it there)\n"
        "  grad: unknown, may require grad\n"
        "    to fix: `.detach()`, or convert it under `torch.no_grad()`\n"
        "  grad mode: unknown (may be on)\n"
        "  habits: say otherwise; at low confidence they are not believed\n"
        "    habit label-name, m.py:4: `labels` is named like a label, a length or a mask\n"
        "        4 | def score(labels):\n"
    )


SILENCED = """\
import torch


def f(x: torch.Tensor, labels):
    a = x.numpy()  # noqa: TNP101
    b = x.cpu().numpy()
    c = labels.numpy()
    return a, b, c
"""

WAYS_TO_SILENCE = {
    "noqa": (5, "", [], "a `# noqa` comment suppresses it"),
    "confidence": (7, "", [], "only medium confidence and above is reported; `--confidence low` reports it"),
    "baseline": (6, 'baseline = "old.json"', [], "old.json has it"),
    "per-file-ignores": (6, 'per-file-ignores = {"m.py" = ["TNP1"]}', [], "TNP102 is off in this file"),
    "ignore": (6, 'ignore = ["TNP10"]', [], "TNP102 is off in this file"),
    "select": (6, "", ["--select", "TNP105"], "TNP102 is off in this file"),
    "exclude": (
        *(6, 'exclude = ["m*"]', []),
        "the file is excluded, or in a folder of installed packages, caches or builds",
    ),
    "diff-base": (6, "", ["--diff-base", "HEAD"], "its line is not changed since the commit of --diff-base"),
}


@pytest.fixture(scope="module")
def silenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit and a baseline beside it."""
    folder = tmp_path_factory.mktemp("silenced")
    (folder / "m.py").write_text(SILENCED)
    entry = {"path": "m.py", "code": "TNP102", "line": "b = x.cpu().numpy()", "count": 1}
    (folder / "old.json").write_text(json.dumps({"version": 1, "findings": [entry]}))
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    commit(folder)
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
@pytest.mark.parametrize("way", WAYS_TO_SILENCE)
def test_what_silences_a_line_is_said_beside_what_would_be(
    run_tonumpy: RunTonumpy, silenced: Path, tmp_path: Path, way: str
) -> None:
    row, setting, options, told = WAYS_TO_SILENCE[way]
    shutil.copytree(silenced, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pyproject.toml").write_text(f"[tool.tonumpy]\n{setting}\n")
    said = run_tonumpy("why", f"m.py:{row}", *options).out.splitlines()
    assert [line.split()[0] for line in said if line.startswith("  TNP")] == ["TNP102" if row == 6 else "TNP101"]
    assert [line for line in said if "not reported" in line] == [f"    not reported: {told}"]
    unsilenced = [line for line in said if "not reported" not in line]
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "m.py").write_text(SILENCED.replace("  # noqa: TNP101", ""))
    others = ["--confidence", "low"] if way == "confidence" else []
    assert run_tonumpy("why", f"m.py:{row}", *others).out.splitlines() == [
        line.replace("  # noqa: TNP101", "") for line in unsilenced
    ]


def test_a_folder_of_installed_packages_is_named_as_a_silence(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for folder in ("env", "node_modules"):
        (tmp_path / folder / "lib").mkdir(parents=True)
        (tmp_path / folder / "lib" / "m.py").write_text(SILENCED)
        (tmp_path / folder / "pyvenv.cfg").touch()
        said = run_tonumpy("why", f"{folder}/lib/m.py:6").out
        told = "the file is excluded, or in a folder of installed packages, caches or builds"
        assert f"    not reported: {told}\n" in said


MODEL = "import torch\n\n\ndef logits(x):\n    return torch.relu(x)\n"
DEVICES = """\
import torch
from model import logits

device = "cuda"


def f(x):
    probabilities = torch.softmax(logits(x), 1)
    return probabilities.to(device).numpy()


class Net:
    def __init__(self):
        self.device = torch.device("cuda:0")

    def run(self, x: torch.Tensor):
        y = torch.zeros(3, device=self.device)
        return y.numpy()
"""


STORE = """\
import torch


class Store:
    def put(self, value: torch.Tensor):
        return value.numpy()


class Queue:
    def put(self, value):
        self.last = value
"""
USERS = """\
import torch

from store import Queue, Store

store, queue = Store(), Queue()
store.put(torch.rand(3))
queue.put(torch.rand(3).cuda())
"""


def test_a_silenced_line_of_a_notebook(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for source in ("import torch\n", "x: torch.Tensor = get()\nx.numpy()  # noqa\nx.cpu().numpy()\n")
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nper-file-ignores = {"*.ipynb" = ["TNP102"]}\n')
    assert "    not reported: a `# noqa` comment suppresses it\n" in run_tonumpy("why", "n.ipynb:cell 2:2").out
    told = "    not reported: TNP102 is off in this file\n"
    assert told in run_tonumpy("why", "n.ipynb:cell 2:3").out


def test_evidence_of_another_file_is_placed_as_seen_from_here(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "nets.py").write_text("import torch\n\n\ndef make():\n    return torch.zeros(3).cuda()\n")
    (tmp_path / "use.py").write_text("from nets import make\n\nprint(make().numpy())\n")
    said = run_tonumpy("why", "use.py:3").out
    assert "nets.py:5: true from this line on" in said
    assert str(tmp_path) not in said
    evidence = run_tonumpy("check", "--show-evidence").out
    assert "high confidence" in evidence and str(tmp_path) not in evidence


def test_a_column_chooses_one_of_several(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import torch\n\n\ndef f(x, y):\n    return x.numpy(), y.numpy()\n")
    assert run_tonumpy("why", "m.py:5").out.count("kind:") == 2
    assert run_tonumpy("why", "m.py:5:25").out.count("kind:") == 1


def test_an_argument_in_an_f_string(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    code = 'import numpy as np\nimport torch\n\n\ndef f(x: torch.Tensor):\n    return f"{np.median(x.cuda())}"\n'
    (tmp_path / "m.py").write_text(code)
    out = run_tonumpy("why", "m.py:6").out
    assert out.startswith("m.py:6:12: `x.cuda()`\n  TNP104 (high confidence)")


def test_a_place_without_a_conversion(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    done = run_tonumpy("why", "m.py:1")
    assert done[:3] == (2, "", "tonumpy: error: m.py:1: no conversion on this line; the nearest is on line 5\n")
    assert run_tonumpy("why", "m.py").err.startswith("tonumpy: error: `m.py`: expected FILE:ROW")
    assert "not.py: error: No such file" in run_tonumpy("why", "not.py:1").err


def test_each_confidence_shows_more(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    rows = {
        level: [line.split(":")[1] for line in run_tonumpy("check", "-q", "--confidence", level).out.splitlines()]
        for level in ("high", "medium", "low")
    }
    assert rows == {"high": ["9"], "medium": ["9", "13"], "low": ["5", "9", "13"]}
    assert run_tonumpy("check", "-q").out == run_tonumpy("check", "-q", "--confidence", "medium").out


UNDER_NO_GRAD = """\
import torch


def f(x: torch.Tensor):
    with torch.no_grad():
        y = x.reshape(-1)
        y.cpu().numpy()
    return y.cpu().numpy()
"""


def test_no_advice_is_what_is_done_already(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """A view that is made under no_grad requires grad as its base does; what is converted there never raises for it."""
    (tmp_path / "m.py").write_text(UNDER_NO_GRAD)
    assert "to fix" not in run_tonumpy("why", "m.py:7").out
    assert "    to fix: `.detach()`, or convert it under `torch.no_grad()`\n" in run_tonumpy("why", "m.py:8").out
    (tmp_path / "m.py").write_text(UNDER_NO_GRAD.replace("    return", "        return"))
    assert run_tonumpy("check", "m.py").code == 0


def test_what_is_moved_to_a_device_is_not_told_to_be_of_unknown_type(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "import torch\n\n\ndef f(x, device):\n    return x.to('cuda').log().numpy(), torch\n"
    )
    told = run_tonumpy("check", "-q", "--output-format", "concise", "--confidence", "high").out
    assert "TNP101" in told
    assert "type unknown" not in told + run_tonumpy("why", "m.py:5").out


def test_a_file_may_choose_the_confidence(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nconfidence = "high"\n')
    assert run_tonumpy("check", "-q").out.count("\n") == 1
    assert run_tonumpy("check", "-q", "--confidence", "low").out.count("\n") == 3
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nconfidence = "sure"\n')
    assert 'confidence: expected "high", "medium" or "low", found "sure"' in run_tonumpy("check", "-q").err


def test_what_strict_reports_in_place_of_a_less_sure_finding_is_shown(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n")
    options = ("--strict", "--confidence", "high")
    assert " TNP300 " in run_tonumpy("check", "-q", *options).out
    told = run_tonumpy("why", *options, "m.py:5").out
    assert "  TNP101 (medium confidence): " in told
    assert "  TNP300 (high confidence): " in told


def test_evidence_under_each_finding(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    out = run_tonumpy("check", "-q", "--confidence", "low", "--show-evidence").out
    assert "    low confidence\n    habit label-name, m.py:4: " in out
    assert "    high confidence\n" in out


def test_what_is_promised_counts_as_in_a_check(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import torch\nimport mylib\n\n\ndef f(p):\n    return mylib.load(p).numpy()\n")
    assert "not reported" not in run_tonumpy("why", "m.py:6").out
    promise = 'function = "mylib.load"\nreturns = "tensor"\ndevice = "cpu"\ngrad = false\n'
    (tmp_path / "pyproject.toml").write_text(f"[[tool.tonumpy.promises]]\n{promise}")
    out = run_tonumpy("why", "m.py:6").out
    assert "  not reported\n" in out
    assert "  device: on the CPU\n" in out
    assert "  grad: does not require grad\n" in out


def test_a_habit_that_is_switched_off_is_no_answer(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    body = "def shifted(offset: torch.Tensor):\n    return (torch.rand(3) + offset).numpy()\n"
    (tmp_path / "m.py").write_text(f"import torch\n\n\n{body}")
    believed = run_tonumpy("why", "m.py:5").out
    assert "TNP101 (low confidence)" in believed
    assert "  grad: unknown, may require grad\n" in believed  # as the finding says
    assert "  habits: say otherwise; at low confidence they are not believed\n    habit company-of-data" in believed
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\ndisable-habits = ["company-of-data"]\n')
    out = run_tonumpy("why", "m.py:5").out
    assert "  habits:" not in out
    assert "TNP101 (medium confidence)" in out
    assert "  grad: unknown, may require grad\n" in out


def test_what_is_made_of_parameters(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    model = "net = nn.Linear(2, 2)\nplt.plot(net(torch.rand(3, 2)))\n"
    (tmp_path / "m.py").write_text(f"import matplotlib.pyplot as plt\nimport torch\nfrom torch import nn\n\n{model}")
    out = run_tonumpy("why", "m.py:6").out
    assert "computed from model parameters" in out
    assert "unknown, may require grad" not in out


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        ("def f():\n    return nn.Parameter(torch.ones(3)).cpu().numpy()\n", "high"),
        ("def f(x, device):\n    return x.to(device).detach().numpy()\n", "high"),
        ("def f(x):\n    return x.cuda().detach().numpy()\n", "high"),
        ("net = nn.Linear(3, 3)\nprint(net(torch.ones(3)).cpu().numpy())\n", "high"),
        ("def f(net: nn.Linear, x):\n    return net(x).cpu().numpy()\n", "medium"),  # its caller may turn grad off
        ("def f(x: torch.Tensor):\n    return x.detach().numpy()\n", "medium"),
        ("def f(model, x):\n    return np.median(model(x))\n", "low"),  # nor may it be a tensor
        ("def f(model, xs):\n    y = []\n    for x in xs:\n        y.append(model(x))\n    np.mean(y)\n", "medium"),
        ("model = torch.load('m')\nprint(np.median(model(torch.ones(3))))\n", "medium"),
        ("def f(net: nn.Linear, x):\n    return np.median(net(x))\n", "medium"),
    ],
)
def test_how_sure_it_is(code: str, confidence: str) -> None:
    imports = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"
    found = check_source(imports + code, "m.py", confidence="low")
    assert [finding.confidence for finding in found] == [confidence]


_SHARED = "y = x.detach().cpu().numpy()\n    x += 1\n    return y\n"


@pytest.mark.parametrize(
    ("beginning", "confidence"),
    [
        ("def f(x: torch.Tensor, device):\n    x = x.to(device)\n", "low"),  # `.cpu()` copies unless that is the CPU
        ("def f(x: torch.Tensor):\n", "medium"),
        ("def f():\n    x = torch.ones(3)\n", "high"),
    ],
)
def test_how_sure_it_is_that_memory_is_shared(beginning: str, confidence: str) -> None:
    code = f"import torch\n\n\n{beginning}    {_SHARED}"
    found = check_source(code, "m.py", select=["TNP201"], confidence="low")
    assert [finding.confidence for finding in found] == [confidence]


SINKS = """\
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

model = nn.Linear(2, 2)
x = torch.rand(3, 2)
y = x.cuda()


def show(a, ax, step: int, device):
    plt.plot(step, a)
    ax.plot(a)
    moved = a.to(device)
    with torch.no_grad():
        return moved.numpy(), np.zeros(3).tolist(), step.numpy()


plt.plot(x, model(y), label="y")
"""


def about(told: str, subject: str) -> dict[str, str]:
    """The answers of one explanation, each with the lines under it."""
    (block,) = (block for block in told.split("\n\n") if block.partition("\n")[0].endswith(f": `{subject}`"))
    answers: dict[str, str] = {}
    for part in block.split("\n"):
        if part.startswith("  ") and part[2] != " ":
            name, _, text = part.strip().partition(": ")
            answers[name] = text
        elif part.startswith("    "):
            answers[name] += part.removeprefix("   ")
    return answers


def test_what_takes_a_tensor_for_values_is_told_though_it_converts_none(
    run_tonumpy: RunTonumpy, tmp_path: Path
) -> None:
    (tmp_path / "m.py").write_text(
        "import pandas as pd\nimport torch\n\n\ndef f(x: torch.Tensor, path):\n    table = pd.read_csv(path)\n"
        "    t = x.detach().cpu()\n    return table['a'] == t\n"
    )
    done = run_tonumpy("why", "m.py:8")
    assert done[0] == 0
    assert "m.py:8:26: `t`\n  TNP206 (high confidence): `table['a'] == t` takes a tensor for values" in done[1]


def test_a_line_without_a_conversion_names_the_nearest(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SINKS)
    told = run_tonumpy("why", "m.py:14").err
    assert told.endswith("m.py:14: no conversion on this line; the nearest are on line 13 and 16\n")
    (tmp_path / "empty.py").write_text("import torch\n")
    assert run_tonumpy("why", "empty.py:1").err.endswith("empty.py:1: no conversion on this line\n")


def test_the_lines_that_write_and_read(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    body = "    a = x.detach().cpu().numpy()\n    x.zero_()\n    return a\n"
    (tmp_path / "m.py").write_text(f"import torch\n\n\ndef f(x: torch.Tensor):\n{body}")
    told = run_tonumpy("why", "m.py:5").out
    assert "code, m.py:6: overwrites the tensor" in told
    assert "code, m.py:7: reads the array" in told
    (result,) = json.loads(run_tonumpy("check", "--output-format", "sarif").out)["runs"][0]["results"]
    related = [
        (each["physicalLocation"]["region"]["startLine"], each["message"]["text"])
        for each in result["relatedLocations"]
    ]
    assert related == [(6, "code: overwrites the tensor"), (7, "code: reads the array")]


SURE = ("not on the CPU", "chosen at run time", "requires grad", "computed from model parameters")
FOLDERS = ("TNP103", "TNP104", "TNP105", "habits/program_on_cpu", "flow/devices")


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_confidence_contradicts_what_is_known(folder: str) -> None:
    """High only beside a fact that speaks for it, low only beside a habit, callers or a limit."""
    for path in sorted((FIXTURES / folder).rglob("*.py")):
        source = Source(path.read_bytes(), str(path))
        found = check(source, Settings(confidence="low"), Project())
        for row in sorted({each.start.row for each in found if each.code.startswith("TNP10")}):
            for explained in explain(source, Settings(), Project(), row):
                told = [answer.text for answer in explained.answers]
                lacks = [answer.about for answer in explained.answers if answer.about in ("dtype", "layout", "bit")]
                kinds = {ground.kind for answer in explained.answers for ground in answer.grounds} - {"code"}
                for finding in explained.findings:
                    if not finding.code.startswith("TNP10") or "always" in finding.message:
                        continue
                    place = f"{path}:{row}: {explained.subject}: {finding.confidence}, {told}"
                    if finding.confidence == "high":
                        assert lacks or any(text.startswith(SURE) for text in told), place
                    if finding.confidence == "low":
                        assert kinds or any("limit" in text or text.startswith("low, as") for text in told), place
                    if finding.confidence != "low":
                        assert not {"on the CPU", "does not require grad"} <= set(told) or lacks, place


def test_explain_takes_the_names_that_why_prints(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(labels):\n    return labels.cpu().numpy()\n")
    assert "habit label-name" in run_tonumpy("why", "a.py:5").out
    result = run_tonumpy("explain", "label-name")
    assert (result.code, result.out) == (0, run_tonumpy("explain", "habit/label-name").out)


CHOOSING = """\
import torch


DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick():
    return "cuda" if torch.cuda.is_available() else "cpu"


def several(name):
    if name:
        return name
    return "cpu"


def of_module(x: torch.Tensor):
    y = x.detach().to(DEVICE)
    return y.numpy()


def returned(x: torch.Tensor):
    device = pick()
    return x.detach().to(device=device).numpy()


class Trainer:
    def __init__(self):
        self.device = pick()

    def run(self, x: torch.Tensor):
        y = x.detach().to(self.device)
        return y.numpy()


def here(x: torch.Tensor):
    where = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    y = x.detach().to(where)
    return y.numpy()


def of_several(x: torch.Tensor, name):
    device = torch.device(several(name))
    a, b = x.detach().to(device), 1
    return a.numpy()
"""


def test_the_line_that_chooses_the_device_is_named(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(CHOOSING)
    places = {
        19: ("`DEVICE`", "line 4"),
        24: ("`device`", "line 8"),
        33: ("`self.device`", "line 8"),
        39: ("`where`", "line 37"),
        45: ("`device`", "line 11"),
    }
    for _ in range(2):  # the second time from the cache
        lines = run_tonumpy("check", "--quiet", "m.py").out.splitlines()
        for line, (row, (name, place)) in zip(lines, places.items(), strict=True):
            assert line.startswith(f"m.py:{row}:")
            assert f"on a tensor on {name} ({place}, maybe a GPU)" in line
    told = json.loads(run_tonumpy("check", "--output-format", "json", "m.py").out)
    for each, (name, place) in zip(told, places.values(), strict=True):
        assert f"on a device chosen at run time ({name}, {place}): raises TypeError" in each["message"]
    why = run_tonumpy("why", "m.py:24").out
    assert "m.py:8: `pick` returns it here" in why
    assert 'return "cuda" if torch.cuda.is_available() else "cpu"' in why


def test_a_device_without_a_line_of_its_own(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    module = "import torch\n\n\ndef f(x: torch.Tensor, args):\n    return x.detach().to(args.device).numpy()\n"
    (tmp_path / "m.py").write_text(module)
    assert "on a tensor on `args.device` (maybe a GPU)" in run_tonumpy("check", "m.py").out


def test_a_mask_that_is_none_is_told_with_its_kind(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "import numpy as np\nimport torch\n\n\ndef f(x: torch.Tensor):\n    return ~np.isnan(x)\n"
    )
    told = run_tonumpy("why", "m.py:6").out
    assert told.startswith("m.py:6:12: `~np.isnan(x)`\n  TNP205 (high confidence): ")
    assert "\n  kind: torch tensor (proved)\n    code, m.py:6: true from this line on\n" in told.split("\n\n")[0]


def test_what_is_taken_for_a_value_is_told_with_its_kind(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return len(set(x))\n")
    told = run_tonumpy("why", "m.py:5").out
    assert "`x`\n  TNP206 (high confidence): " in told
    assert "  kind: torch tensor (proved)\n    code, m.py:4: true from this line on\n" in told


def test_an_unknown_fact_is_not_said_to_be_true(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(s):\n    net = torch.nn.Linear(2, 2)\n    return net.scale.numpy()\n"
    (tmp_path / "m.py").write_text(text)
    told = run_tonumpy("why", "m.py:6").out
    grad = told[told.index("  grad: ") : told.index("  grad mode: ")]
    told = "  grad: unknown, may require grad\n    code, m.py:5: computed from parameters from this line on\n"
    assert grad.startswith(told)
