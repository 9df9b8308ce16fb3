"""`tonumpy rehearse` runs a program on a stand-in accelerator: what it says and repairs, and what the program sees."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from readme import block
from rehearsal_runs import LEARN, Result, needs_torch, rehearse, tonumpy
from time_limits import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(__file__).with_name("rehearsal_program.py")


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The program, in a folder of its own, once it has run."""
    folder = tmp_path_factory.mktemp("program")
    shutil.copy(PROGRAM, folder / "program.py")
    return folder, rehearse(folder, "--unreached", "--observations", "seen.json", "--", "program.py", "word")


def _expected() -> list[tuple[int, str]]:
    lines = PROGRAM.read_text().splitlines()
    return sorted((row, code) for row, line in enumerate(lines, 1) for code in re.findall(r"# (TNP\d+)", line))


@needs_torch
def test_exactly_what_fails_is_found(rehearsed: tuple[Path, Result]) -> None:
    """In chains, f-strings, lambdas and comprehensions, in a decorator, in workers and in processes that it starts."""
    _, result = rehearsed
    found = {(finding["location"]["row"], finding["code"]) for finding in result.findings}
    assert sorted(found) == _expected()
    assert result.code == 1


# What is told of a row of which no more is known: the rule of an argument for that of what is put into an array.
BY_ROWS = {("array[1:] = y[1:]", "TNP108"): "TNP104"}


@pytest.mark.slow
@needs_torch
def test_rows_alone_tell_nearly_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.10 knows no columns."""
    monkeypatch.setenv("PYTHONNODEBUGRANGES", "1")
    shutil.copy(PROGRAM, tmp_path / "program.py")
    result = rehearse(tmp_path, "--", "program.py")
    lines = PROGRAM.read_text().splitlines()
    expected = [(row, BY_ROWS.get((lines[row - 1].partition("#")[0].strip(), code), code)) for row, code in _expected()]
    assert sorted((each["location"]["row"], each["code"]) for each in result.findings) == expected


@needs_torch
def test_what_was_seen_is_told(rehearsed: tuple[Path, Result]) -> None:
    folder, result = rehearsed
    by_code = {finding["code"]: finding for finding in result.findings}
    assert {finding["confidence"] for finding in result.findings} == {"observed"}
    first = next(finding for finding in result.findings if "relu" in _text(folder, finding))
    observed = first["observed"]
    assert observed["device"] == "cuda:0"
    assert observed["requires_grad"] is True
    assert (observed["dtype"], observed["layout"], observed["shape"]) == ("torch.float32", "torch.strided", [4, 2])
    assert observed["times"] == 1
    assert observed["stack"][0] == {"filename": str(folder / "program.py"), "function": "calls", "row": 52}
    assert by_code["TNP103"]["observed"]["times"] == 4
    assert by_code["TNP103"]["observed"]["requires_grad"] is False
    assert by_code["TNP105"]["observed"]["dtype"] == "torch.bfloat16"
    assert by_code["TNP106"]["observed"]["layout"] == "torch.sparse_coo"


def _text(folder: Path, finding: dict[str, Any]) -> str:
    lines = (folder / "program.py").read_text().splitlines()
    return lines[finding["location"]["row"] - 2]


@needs_torch
def test_the_argument_is_named_that_was_converted(rehearsed: tuple[Path, Result]) -> None:
    folder, result = rehearsed
    lines = (folder / "program.py").read_text().splitlines()
    named = [
        lines[finding["location"]["row"] - 1][finding["location"]["column"] - 1 : finding["end_location"]["column"] - 1]
        for finding in result.findings
        if finding["code"] in ("TNP104", "TNP108")
    ]
    assert named == ["losses", "y", "net.weight", "y[1:]", "y", "y"]


@needs_torch
def test_the_program_sees_what_python_would_show_it(rehearsed: tuple[Path, Result]) -> None:
    _, result = rehearsed
    assert "arguments ['word'] __main__" in result.err
    assert "The program ended with exit code 3." in result.err


@needs_torch
def test_what_did_not_run_is_told(rehearsed: tuple[Path, Result]) -> None:
    _, result = rehearsed
    rows = [row for row, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line == "    return x.numpy()"]
    not_run = [line for line in result.err.splitlines() if line.endswith("did not run")]
    assert [line.split(":")[1] for line in not_run if "program.py" in line][-1:] == [str(rows[0])]
    assert re.search(r"\n\d+ of \d+ conversions in 1 file ran; \d did not", result.err)


@needs_torch
def test_a_check_takes_the_run_as_evidence(rehearsed: tuple[Path, Result]) -> None:
    folder, _ = rehearsed
    found = tonumpy(folder, "check", "--observed", "seen.json", "--output-format", "json", "program.py").findings
    seen = {(each["location"]["row"], each["code"]) for each in found if each["confidence"] == "high"}
    assert set(_expected()) <= seen
    grounds = [each["evidence"][0] for each in found if (each["location"]["row"], each["code"]) in _expected()]
    assert {ground["kind"] for ground in grounds} == {"run"}


@needs_torch
def test_a_line_is_known_again_unless_it_changes(rehearsed: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = rehearsed
    shutil.copy(folder / "seen.json", tmp_path)
    text = (folder / "program.py").read_text()
    moved = text.replace('"""A program', '# one row more\n"""A program')
    (tmp_path / "program.py").write_text(moved.replace("map(methodcaller", "map( methodcaller"))
    why = tonumpy(tmp_path, "why", "--observed", "seen.json", "program.py:53")
    assert "run: fails (" in why.out
    gone = tonumpy(tmp_path, "check", "--observed", "seen.json", "--output-format", "json", "program.py").findings
    rows = {each["location"]["row"] for each in gone if each["evidence"][:1] and each["evidence"][0]["kind"] == "run"}
    assert rows == {row + 1 for row, _ in _expected() if "methodcaller" not in text.splitlines()[row - 1]}


@needs_torch
def test_what_was_seen_to_work_is_told_and_never_silences(rehearsed: tuple[Path, Result]) -> None:
    folder, _ = rehearsed
    row = next(row for row, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "both = " in line)
    why = tonumpy(folder, "why", "--observed", "seen.json", f"program.py:{row}").out
    assert "run: seen once: cpu, float32, shape (2,); never refused" in why


@pytest.mark.slow
@needs_torch
def test_records_of_several_runs_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(f"{LEARN}weight.numpy()\n")
    for _ in range(2):
        assert rehearse(tmp_path, "--observations", "seen.json", "--", "learn.py").code == 1
    record = json.loads((tmp_path / "seen.json").read_text())
    (entry,) = record["files"]["learn.py"]
    assert (entry["refused"]["times"], entry["line"]) == (2, "weight.numpy()")


@pytest.mark.parametrize("text", ["{}", "[1", '{"tonumpy": "observations", "version": 1, "files": {"a.py": [{}]}}'])
def test_a_record_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "seen.json").write_text(text)
    (tmp_path / "a.py").write_text("import torch\n")
    result = tonumpy(tmp_path, "check", "--observed", "seen.json")
    assert (result.code, result.out) == (2, "")
    assert "seen.json: " in result.err


@pytest.mark.slow
@needs_torch
def test_repairs_hold_in_a_second_run(tmp_path: Path) -> None:
    text = f"{LEARN}weight.numpy()\nweight.relu().cpu().numpy()\nprint('ran')\n"
    (tmp_path / "learn.py").write_text(text)
    shown = tonumpy(tmp_path, "rehearse", "--fix", "--diff", "--", "learn.py")
    assert (shown.code, (tmp_path / "learn.py").read_text()) == (1, text)
    assert "+weight.detach().cpu().numpy()\n" in shown.out
    assert "2 to be repaired, 0 left." in shown.err
    result = tonumpy(tmp_path, "rehearse", "--fix", "--", "learn.py")
    assert "2 repaired, run again: 0 left.\n" in result.out
    assert (result.code, result.err.count("ran")) == (0, 2)
    repaired = "weight.detach().cpu().numpy()\nweight.relu().detach().cpu().numpy()\n"
    assert repaired in (tmp_path / "learn.py").read_text()


SIZE = """\


def size(x):
    return np.asarray(x).sum()


"""


@pytest.mark.slow
@needs_torch
def test_what_may_be_an_array_as_well_is_an_unsafe_fix(tmp_path: Path) -> None:
    """A run sees tensors: that a function was given arrays too, it does not."""
    text = f"import numpy as np\n{LEARN}{SIZE}print(size(np.ones(2)), size(weight))\nnp.asarray(weight)\n"
    (tmp_path / "learn.py").write_text(text)
    result = tonumpy(tmp_path, "rehearse", "--fix", "--", "learn.py")
    assert result.code == 1
    assert "1 repaired, run again: 1 left.\n1 more with `--fix --unsafe-fixes`.\n" in result.out
    assert (tmp_path / "learn.py").read_text() == text.replace("(weight)\n", "(weight.detach().cpu().numpy())\n")


@pytest.mark.slow
@needs_torch
def test_repairs_that_break_the_program_are_taken_back(tmp_path: Path) -> None:
    """All of them: nothing says which it was."""
    text = f"import numpy as np\n{LEARN}{SIZE}weight.numpy()\nprint(size(np.ones(2)), size(weight))\n"
    (tmp_path / "learn.py").write_text(text)
    result = tonumpy(tmp_path, "rehearse", "--fix", "--unsafe-fixes", "--", "learn.py")
    place = "learn.py:8"
    assert f"{place}:23: TNP104 taken back: the program then raised AttributeError at {place}\n" in result.out
    assert "Nothing repaired, 2 left.\n" in result.out
    assert re.search(rf"(?m)^{place}:23: TNP104 (?!.*\[\*\]).*`np.asarray` converts", result.out)
    assert "The program ended with exit code 0." in result.out
    assert (result.code, result.err.count("the program runs again")) == (1, 1)
    assert (tmp_path / "learn.py").read_text() == text


BOX = """\
class Box:
    def numpy(self):
        return 1


failed = 0
for each in (weight, Box()):
    try:
        each.numpy()
    except AttributeError:
        failed = 4
"""


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("sys.exit(failed)", "ended with exit code 4"),
        ("if failed:\n    os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
        ("if failed:\n    raise ValueError(failed)", "raised ValueError at learn.py:19"),
    ],
)
def test_all_are_taken_back_where_nothing_says_which(tmp_path: Path, end: str, how: str) -> None:
    data = f"import os, sys  # \xe9\n{LEARN}weight.numpy()\n{BOX}{end}\n".encode("latin-1").replace(b"\n", b"\r\n")
    data = b"# coding: latin-1\r\n" + data
    (tmp_path / "learn.py").write_bytes(data)
    result = tonumpy(tmp_path, "rehearse", "--fix", "--", "learn.py")
    assert result.out.count(f" taken back: the program then {how}\n") == 2
    assert "Nothing repaired, 2 left.\n" in result.out
    assert (result.code, result.err.count("the program runs again")) == (1, 1)
    assert (tmp_path / "learn.py").read_bytes() == data


@pytest.mark.slow
@needs_torch
def test_what_does_not_run_again_is_told(tmp_path: Path) -> None:
    once = "import os\nif not os.path.exists('done'):\n    open('done', 'w').close()\n    weight.numpy()\n"
    (tmp_path / "learn.py").write_text(f"{LEARN}{once}(weight\n .numpy())\n")
    result = tonumpy(tmp_path, "rehearse", "--fix", "--", "learn.py")
    assert "learn.py:7:27: TNP101 repaired, and did not run again\n" in result.out
    assert "1 repaired, run again: 0 left; not reached again: 1.\n" in result.out
    assert result.code == 0


@pytest.mark.slow
@needs_torch
def test_stop_goes_on_to_the_next_fault(tmp_path: Path) -> None:
    """That it raises there is none of the repair's doing."""
    (tmp_path / "learn.py").write_text(f"{LEARN}weight.numpy()\nweight.relu().numpy()\n")
    result = tonumpy(tmp_path, "rehearse", "--fix", "--stop", "--", "learn.py")
    assert "1 repaired, run again: 1 left.\n" in result.out
    assert "weight.detach().cpu().numpy()\n" in (tmp_path / "learn.py").read_text()


@pytest.mark.slow
@needs_torch
def test_stop_raises_as_hardware_does(tmp_path: Path) -> None:
    (tmp_path / "stop.py").write_text("import torch\n\ntorch.ones(2, device='cuda').numpy()\nprint('on')\n")
    result = rehearse(tmp_path, "--stop", "--", "stop.py")
    assert [finding["code"] for finding in result.findings] == ["TNP101"]
    assert result.code == 1
    assert "\non\n" not in result.err
    traceback = result.err[result.err.index("Traceback") :].splitlines()
    assert traceback[1] == f'  File "{tmp_path / "stop.py"}", line 3, in <module>'
    assert "TypeError: can't convert cuda:0 device type tensor to numpy" in result.err
    assert "The program ended with TypeError: can't convert" in result.err


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("raise ValueError('bad')", "ended with ValueError: bad at end.py:5."),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "was ended by SIGKILL; what else it had loaded is not known.",
        ),
        ("import os; os._exit(7)", "ended with exit code 7."),
        ("raise KeyboardInterrupt", "ended with KeyboardInterrupt at end.py:5."),
    ],
)
def test_a_program_that_fails_is_reported_as_well(tmp_path: Path, text: str, how: str) -> None:
    (tmp_path / "end.py").write_text(f"{LEARN}weight.numpy()\n{text}\n")
    result = rehearse(tmp_path, "--", "end.py")
    assert [finding["code"] for finding in result.findings] == ["TNP101"]
    assert f"The program {how}\n" in result.err


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize(
    ("text", "code"), [("sys.exit(7)", 7), ("raise ValueError", 1), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_where_nothing_is_found_the_exit_code_is_the_programs(tmp_path: Path, text: str, code: int) -> None:
    """So that `tonumpy rehearse -- -m pytest` fails where a test does."""
    (tmp_path / "end.py").write_text(f"import sys, torch\n{text}\n")
    result = rehearse(tmp_path, "--", "end.py")
    assert (result.code, result.findings) == (code, [])


@needs_torch
def test_the_program_needs_no_dashes_before_it(tmp_path: Path) -> None:
    """As for `coverage run`: what stands behind the program is the program's."""
    (tmp_path / "end.py").write_text("import sys, torch\nsys.exit(f'{sys.argv}')\n")
    result = tonumpy(tmp_path, "rehearse", "--output-format", "json", "-q", "end.py", "--", "-q", "--output-format")
    assert result.err == "['end.py', '--', '-q', '--output-format']\n"
    assert (result.code, result.out) == (1, "[]\n")


@pytest.mark.slow
@needs_torch
def test_a_report_that_cannot_be_written_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(f"{LEARN}weight.numpy()\n")
    result = tonumpy(tmp_path, "rehearse", "-o", "learn.py", "learn.py")
    assert (result.code, result.out.count("TNP101")) == (2, 1)
    assert "tonumpy: error: learn.py: " in result.err


@needs_torch
def test_a_module_is_run(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/learn.py").write_text(f"import sys\n{LEARN}weight.numpy()\nprint(sys.argv, __package__)\n")
    result = rehearse(tmp_path, "-o", "report.json", "--", "-m", "package.learn", "-x")
    assert f"{[str(tmp_path / 'package/learn.py'), '-x']} package\n" in result.out
    (finding,) = json.loads((tmp_path / "report.json").read_text())
    assert finding["filename"] == str(tmp_path / "package/learn.py")


@pytest.mark.slow
@needs_torch
def test_what_only_no_grad_saves_is_fragile(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(f"{LEARN}with torch.no_grad():\n    weight.numpy()\n")
    assert rehearse(tmp_path, "--", "learn.py").findings == []
    (finding,) = rehearse(tmp_path, "--fragile", "--", "learn.py").findings
    assert (finding["code"], finding["observed"]["fragile"]) == ("TNP101", True)
    assert finding["observed"]["requires_grad"] is False


@pytest.mark.slow
@needs_torch
def test_codes_and_comments_count_as_in_a_check(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(f"{LEARN}weight.numpy()  # noqa: TNP101\nweight.cpu().numpy()\n")
    assert [each["code"] for each in rehearse(tmp_path, "--", "learn.py").findings] == ["TNP102"]
    assert rehearse(tmp_path, "--ignore", "TNP102", "--", "learn.py").findings == []


@pytest.mark.slow
@needs_torch
def test_a_file_outside_of_the_folder_at_hand_is_not_repaired(tmp_path: Path) -> None:
    text = f"{LEARN}weight.numpy()\n"
    (tmp_path / "learn.py").write_text(text)
    (tmp_path / "here").mkdir()
    result = tonumpy(tmp_path / "here", "rehearse", "--fix", "--", "../learn.py")
    assert result.code == 2
    assert "learn.py: error: is outside of the folder at hand, so it is not repaired" in result.err
    assert (tmp_path / "learn.py").read_text() == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the program is missing"),
        (("--",), "the program is missing"),
        (("--", "nothing.py"), "nothing.py: No such file or directory"),
        (("--", "-m", "nothing_here"), "-m nothing_here: No module named nothing_here"),
        (("--", "wrong.py"), "wrong.py: "),
        (("--diff", "--", "wrong.py"), "--diff shows what `--fix` would change: give both"),
        (("wrong.py", "--fix"), "wrong.py: "),
        (("--", "python3", "wrong.py"), "wrong.py: "),
        (("--", "python", "-c", "1"), "python -c: a rehearsal needs a program in a file"),
        (("--", "/nowhere/python", "wrong.py"), "/nowhere/python: a rehearsal runs in the Python that has tonumpy"),
        (("--", "wrong.ipynb"), "wrong.ipynb"),
        (("--observations", "wrong.py", "--", "ended.py"), "wrong.py: cannot be read as observations"),
    ],
)
def test_what_cannot_be_started_ends_with_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "wrong.py").write_text("1 +\n")
    (tmp_path / "ended.py").write_text("print('it ran, for nothing')\n")
    (tmp_path / "wrong.ipynb").write_text("{}")
    result = tonumpy(tmp_path, "rehearse", *words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tonumpy: error: {message}")


def test_without_torch_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    (tmp_path / "program.py").write_text("print(1)\n")
    result = tonumpy(tmp_path, "rehearse", "--", "program.py")
    assert (result.code, result.out) == (2, "")
    assert "a rehearsal runs on your own torch, and there is none: No module named 'torch'" in result.err


def test_no_other_command_imports_any_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{LEARN}weight.numpy()\n")
    for command in ("check", "fix"):
        code = f"import sys; from tonumpy.cli.main import main; main(['{command}', 'a.py']); print(*sys.modules)"
        run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        loaded = run.stdout.split()
        assert [name for name in loaded if name.startswith(("tonumpy.rehearsal", "tonumpy.observed", "torch"))] == []
        assert "tonumpy.cli.rehearse" not in loaded


TESTS = """\
import torch

import not_reached  # noqa: F401 -- counts


def test_device():
    assert torch.ones(2, device="cuda").numpy().sum() == 2


def test_grad():
    assert torch.ones(2, requires_grad=True).detach().numpy().sum() == 2
"""


@pytest.fixture
def run_pytest(tmp_path: Path) -> Callable[..., Result]:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "not_reached.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(*arguments: str) -> Result:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["in one process", "in a worker"])
def test_pytest_rehearses(run_pytest: Callable[..., Result], tmp_path: Path, more: tuple[str, ...]) -> None:
    result = run_pytest("--rehearse", "--rehearse-format", "json", "--rehearse-file", "report.json", *more)
    assert "2 passed" in result.out
    assert result.code == 1
    (finding,) = json.loads((tmp_path / "report.json").read_text())
    assert (finding["code"], finding["location"]["row"], finding["observed"]["device"]) == ("TNP101", 7, "cuda:0")
    assert "Saw 1 fault in 1 file.\n" in result.out
    assert "\n2 of 3 conversions in 2 files ran; 1 did not (--rehearse-unreached says which).\n" in result.out


@pytest.mark.slow
@needs_torch
def test_pytest_has_several_devices(run_pytest: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch\n\n\ndef test_second():\n"
        "    assert torch.cuda.device_count() == 2\n"
        "    assert str(torch.ones(2, device='cuda:1').device) == 'cuda:1'\n"
    )
    assert "1 passed" in run_pytest("--rehearse", "--rehearse-devices", "2").out
    refused = run_pytest("--rehearse", "--rehearse-devices", "0")
    assert (refused.code, "a number from 1 to 64 is wanted, not '0'" in refused.err) == (4, True), refused


@needs_torch
def test_pytest_alone_is_as_ever(run_pytest: Callable[..., Result], tmp_path: Path) -> None:
    """Without the option nothing is pretended, and nothing of ours is imported but the plugin."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_modules():\n"
        "    ours = {name for name in sys.modules if name.startswith('tonumpy')}\n"
        "    assert ours == {'tonumpy', 'tonumpy.integrations', 'tonumpy.integrations.pytest_plugin'}\n"
        "    assert 'torch' not in sys.modules\n"
    )
    result = run_pytest()
    assert (result.code, "1 passed" in result.out) == (0, True), result.out


@pytest.mark.slow
@needs_torch
def test_pytest_is_rehearsed_by_the_command(run_pytest: Callable[..., Result], tmp_path: Path) -> None:
    run_pytest("--version")
    result = rehearse(tmp_path, "--", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rehearse", "test_it.py")
    assert [finding["location"]["row"] for finding in result.findings] == [7]
    assert "2 passed" in result.err


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program of the page."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "learn.py").write_text(block("program", "docs/rehearsal.md"))
    return folder


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("name", ["run", "fix"])
def test_the_page_says_what_is_shown(learned: Path, name: str) -> None:
    command, _, shown = block(name, "docs/rehearsal.md").partition("\n")
    run = subprocess.run(
        [sys.executable, "-m", *command.removeprefix("$ ").split()],
        cwd=learned,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    assert run.stdout == shown
