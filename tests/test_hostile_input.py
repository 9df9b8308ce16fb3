"""Names, settings and sources that mean harm, or chance to look so: a message in bounded time, and nothing forged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tonumpy import SourceError, check_source, fix_source
from tonumpy.cli import main as cli
from tonumpy.cli.disk import read
from tonumpy.config import ConfigError, Configuration
from tonumpy.engine.names.project import Project
from tonumpy.findings import Position
from tonumpy.formats import format_names
from tonumpy.repair.diff import unified_diff
from tonumpy.report import Report, format_named
from tonumpy.setting_values import read_globs
from tonumpy.text.reading import read_regular
from tonumpy.text.source import MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import RunTonumpy

CALL = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
SECONDS = 3.0  # of the processor; each of these took from ten seconds to hours


# time

FILE = (
    "import numpy as np\nimport matplotlib.pyplot as plt\n\n\n"
    "class C:\n    def __init__(self, x):\n        self.a = x\n\n"
    "    def g(self):\n        np.add(self.a.cuda(), 1)\n        return self.a.numpy()\n\n\n" + CALL
)
PIECES = {
    "a long word": "x" * 60_000,
    "a word of words": "load" * 15_000,
    "a word of devices": "cuda" * 15_000,
    "a word of registering": "register_" * 7_000,
    "blanks": " " * 100_000,
    "blanks after import": f"import a{' ' * 60_000}b",
    "blanks after if": f"\nif {' ' * 60_000}x",
    "imports in one line": "import a " * 7_000,
    "a bracket behind import in every line": "import(\n" * 8_000,
    "brackets never closed": "plt.plot(" * 4_000,
    "brackets never closed in lines": "np.f(\n" * 8_000,
    "a chain of the same name": "np." * 20_000,
    "names set": "setattr(" * 7_000,
    "escaped quotes": '\\"' * 30_000,
    "attributes in one line": "a.b, " * 12_000,
    "what is looked for": "sparse conj bfloat16 " * 3_000,
    "rows": "x.numpy()\n" * 80_000,
    "noqa and blanks": f"# noqa{' ' * 60_000}: x",
}


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place", ["# {}\n", "s = '''{}'''\n"], ids=["comment", "string"])
def test_a_text_is_gone_through_once(piece: str, place: str) -> None:
    begun = time.process_time()
    findings = check_source(FILE + place.format(PIECES[piece].replace("\n", "\n# " if place[0] == "#" else "\n")))
    assert time.process_time() - begun < SECONDS
    assert [finding.code for finding in findings if finding.code == "TNP101"] == ["TNP101", "TNP101"]


def test_a_noqa_comment_with_many_blanks() -> None:
    begun = time.process_time()
    assert check_source(f"{CALL.rstrip()}  # noqa{' ' * 100_000}: x\n") == []
    assert len(check_source(f"{CALL.rstrip()}  # noqa: F401,{' ' * 100_000}E501\n")) == 1
    assert check_source(f"{CALL.rstrip()}  # noqa: F401,{' ' * 100_000}TNP101\n") == []
    assert time.process_time() - begun < SECONDS


def test_braces_that_multiply() -> None:
    with pytest.raises(ValueError, match="stands for more than 1000 globs"):
        read_globs(["{a,b}" * 40], "")


def test_a_file_that_is_too_long_to_parse() -> None:
    with pytest.raises(SourceError, match=f"is longer than {MAX_LENGTH} characters, so it is not parsed"):
        check_source(CALL + "#" * MAX_LENGTH)


@pytest.mark.parametrize("opening", ["(", "[", "{", "f(", "-", "lambda: ", "a if b else ", "not "])
def test_a_line_that_is_nested_too_deeply(opening: str) -> None:
    begun = time.process_time()
    with pytest.raises(SourceError, match="cannot be parsed"):
        fix_source(f"{CALL}x = {opening * 100_000}\n")
    assert time.process_time() - begun < SECONDS


# encodings


@pytest.mark.parametrize("codec", "rot13 rot_13 hex base64 bz2 zlib uu quopri undefined".split())
def test_what_is_no_encoding_of_a_file(codec: str) -> None:
    with pytest.raises(SourceError) as caught:
        check_source(f"# coding: {codec}\n{CALL}".encode())
    assert caught.value.reason.startswith("cannot be decoded as")
    assert caught.value.position == Position(1, 1)


def test_a_codec_that_names_no_place_of_its_error() -> None:
    with pytest.raises(SourceError, match="cannot be decoded as utf-7"):
        check_source(b"# coding: utf-7\n# +AAAAAAA- +2AA \xff\n" + CALL.encode())


# what is no regular file


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_devices_and_sockets_are_not_opened(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.py").symlink_to("pipe")
    (tmp_path / "b.py").symlink_to("/dev/zero")
    (tmp_path / "c.py").mkdir()
    (tmp_path / "good.py").write_text(CALL)
    result = run_tonumpy("check", "-q", ".", "a.py", "b.py")
    assert result.err == "a.py: error: is not a regular file\nb.py: error: is not a regular file\n"
    assert result.code == 2
    assert result.out.startswith("good.py:5:14: TNP101")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_as_a_module_that_is_imported(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    for name in ("conftest.py", "helper.py"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "test_a.py").write_text(f"import helper\n{CALL}\n\ndef test_b(given):\n    helper.g(given).numpy()\n")
    assert run_tonumpy("check", "-q", "test_a.py").code == 1
    assert Project().roots_around(str(tmp_path)) is not None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_as_configuration(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ConfigError, match=r"pipe\.toml: is not a regular file"):
        Configuration(config=str(tmp_path / "pipe.toml"))


def test_a_file_that_has_no_end(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # takes no place on the disk
    with pytest.raises(SourceError, match="is larger than"):
        read(str(path))


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs files of the system that have no size")
def test_a_file_that_has_no_size() -> None:
    assert os.stat("/proc/self/maps").st_size == 0
    assert b"python" in read_regular("/proc/self/maps")
    with pytest.raises(OSError, match="is larger than 100 bytes"):  # `/proc/self/pagemap` has a third of a terabyte
        read_regular("/proc/self/maps", 100)


# configuration


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.tonumpy]\nexclude = " + "[" * 20_000 + "]" * 20_000, "nested too deeply"),
        (
            '[tool.tonumpy]\nexclude = ["[z-a]"]',
            r"exclude: the glob `\[z-a\]` cannot be understood: bad character range",
        ),
        ("[tool.tonumpy\nstrict = true", "not valid TOML"),
        ("[tool.'tonumpy'\nstrict = true", "not valid TOML"),
        ("[tool]\ntonumpy = 1", "expected a table, found 1"),
        ("[tool]\ntonumpy.strict = [[]]", r"strict: expected true or false, found \[\[\]\]"),
        ("[[tool.tonumpy]]\nstrict = true", "expected a table"),
        ("[tool.tonumpy]\njobs = 1e400", "jobs: expected a number"),
        ("[tool.tonumpy]\nselect = 2020-01-01", "select: expected a list of strings"),
        ("[tool.tonumpy]\njobs = " + "1" * 5_000, "not valid TOML: Exceeds the limit"),
        (
            "[tool.tonumpy]\nexclude" + ".a" * 900 + " = 1",
            "exclude: (nested too deeply$|expected a list of strings, found )",
        ),
        ('[tool.tonumpy]\nextend = "a\\u0000b"', "extend: .*embedded null"),
        ('[tool.tonumpy]\nbaseline = "a\\u0000b"', "baseline: .*embedded null"),
        (
            '[tool.tonumpy]\nbaseline = "../kept.json"',
            "baseline: expected a file in .*; `--baseline` may name any other",
        ),
        ('[tool.tonumpy]\nbaseline = "/etc/passwd"', "baseline: expected a file in "),
    ],
)
def test_settings_that_cannot_be_understood(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        Configuration().settings_in(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "no baseline that"),
        ("1" * 5_000, "no baseline that"),
        ('{"version": 1, "findings": 5}', "no baseline that"),
        ('{"version": 1, "findings": [5]}', "no baseline that"),
        ('{"version": 1, "findings": [{"path": "a", "code": "b", "line": "c", "count": 1e999}]}', "no baseline that"),
        (None, "is not a regular file"),
    ],
)
def test_a_baseline_that_cannot_be_understood(
    text: str | None, message: str, tmp_path: Path, run_tonumpy: RunTonumpy
) -> None:
    (tmp_path / "a.py").touch()
    if text is None:
        (tmp_path / "kept.json").symlink_to("/dev/zero")
    else:
        (tmp_path / "kept.json").write_text(text)
    result = run_tonumpy("check", "--baseline", "kept.json", "a.py")
    assert result.code == 2
    assert re.match(f"tonumpy: error: kept.json: {message}", result.err)
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("folder", ["", "reports/"])
@pytest.mark.parametrize("command", ["baseline write --baseline", "check --output-file"])
def test_a_report_is_not_written_through_a_link_of_a_stranger(
    folder: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "victim").mkdir()
    victim = tmp_path / "victim/kept.json"
    precious = '{"version": 1, "findings": []}'
    victim.write_text(precious)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.py").write_text(CALL)
    (tree / "reports").symlink_to("../victim")
    (tree / "kept.json").symlink_to("../victim/kept.json")
    monkeypatch.chdir(tree)
    path = [] if command.startswith("baseline") else ["a.py"]
    assert cli.main([*command.split(), f"{folder}kept.json", *path]) == 2
    kind = "baseline" if command.startswith("baseline") else "report"
    reason = f"the {kind} is not written: leads out of the folder, to {victim}"
    assert capsys.readouterr().err == f"tonumpy: error: {folder}kept.json: {reason}\n"
    assert victim.read_text() == precious
    assert cli.main([*command.split(), str(victim), *path]) < 2  # who names it means it
    assert victim.read_text() != precious


# notebooks

CELL = json.dumps({"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": CALL})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (f'"cells": [{CELL}], "x": {"1" * 5_000}', "no JSON that Python reads: Exceeds the limit"),
        (f'"cells": [{CELL}], "x": {"[" * 100_000}', "nested too deeply"),
        (f'"cells": [{CELL}], "cells": 5', "no notebook: it is no object with an array of cells"),
        ('"cells": {"a": []}', "no notebook: it is no object with an array of cells"),
    ],
    ids=["a long number", "deep", "cells twice", "cells of another kind"],
)
def test_a_notebook_that_cannot_be_understood(fields: str, message: str) -> None:
    for ask in (check_source, fix_source):
        with pytest.raises(SourceError, match=f"cannot be read as a notebook: {message}"):
            ask(f'{{"nbformat": 4, {fields}}}', "a.ipynb")


def test_of_a_key_that_a_notebook_has_twice_the_last_counts() -> None:
    cell = CELL.replace('"source"', '"source": ["x.numpy()"], "source"')
    notebook = f'{{"nbformat": 4, "cells": [], "x": NaN, "cells": [{cell}]}}'
    assert [finding.code for finding in check_source(notebook, "a.ipynb")] == ["TNP101"]
    assert fix_source(notebook, "a.ipynb") == notebook.replace("return x.numpy()", "return x.detach().cpu().numpy()")


# output

EVIL = "z\x1b[2J\r\n::error file=x.py::Injected\u202e"
JSON_FORMATS = ("gitlab", "json", "rdjson", "sarif")  # json-lines is no JSON as a whole


def lines_about(evil: str, render: Callable[[Report], str]) -> str:
    findings = check_source(CALL, evil)
    assert len(findings) == 1
    return render(Report(findings, [SourceError(evil, f"reason {evil}", Position(1, 2))]))


@pytest.mark.parametrize("form", format_names())
def test_a_name_forges_nothing_in_a_report(form: str) -> None:
    text = lines_about(
        f"{EVIL}\u061c\ufffe\U000e0041.py", lambda report: format_named(form).render(report, colour=False)
    )
    assert not set(text) & set("\x1b\r\u202e\u061c\ufffe\U000e0041")
    assert not any(line.startswith("::error file=x.py") for line in text.splitlines())
    if form in JSON_FORMATS:
        json.loads(text)


COMMANDS = ("::error file=x.py::a.py", " ::error::a.py", "##[error]a.py", "a##vso[task.b]c.py")


@pytest.mark.parametrize("form", [each for each in format_names() if each not in ("github", "azure", "html")])
def test_a_name_is_no_command_to_a_runner(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GitHub Actions and Azure Pipelines read commands from what is printed, in any format."""
    for name in COMMANDS:
        (tmp_path / name).write_text(CALL.rstrip() + f"  ##[error]{name}\n")
        (tmp_path / f"{name}b.py").write_text("import torch\nx.numpy(\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["check", "--output-format", form, "--show-evidence"]) == 2
    told = capsys.readouterr()
    lines = (told.out + told.err).splitlines()
    assert not any(line.lstrip().startswith("::") or "##[" in line or "##vso[" in line for line in lines)
    if form in JSON_FORMATS and form != "sarif":  # which has names as in an address
        assert sum(any(name in text for name in COMMANDS) for text in strings_in(json.loads(told.out))) >= len(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    ["check --show-files", "check --show-settings", "check -v", "check --baseline=kept.json", "fix --show-fixes"],
)
def test_a_name_forges_nothing_beside_a_report(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("::error::a\x1b[2J\n.py", "b.py"):
        (tmp_path / name).write_text(CALL)
    kept = {"path": "b.py", "code": "X", "line": "\x1b[2J\n::error", "count": 1}
    (tmp_path / "kept.json").write_text(json.dumps({"version": 1, "findings": [kept]}))
    monkeypatch.chdir(tmp_path)
    cli.main(arguments.split())
    told = capsys.readouterr()
    assert "[2J" in told.out + told.err
    assert "\x1b" not in told.out + told.err
    assert not any(line.startswith("::") for line in (told.out + told.err).splitlines())


def strings_in(value: object) -> list[str]:
    if isinstance(value, (list, dict)):
        parts = value if isinstance(value, list) else value.values()
        return [text for part in parts for text in strings_in(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("form", JSON_FORMATS)
def test_a_name_that_is_no_text_is_valid_json(form: str) -> None:
    text = lines_about("caf\udce9.py", lambda report: format_named(form).render(report, colour=False))
    json.dumps(json.loads(text), ensure_ascii=False).encode()


def test_a_name_forges_no_line_on_stderr(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    try:
        (tmp_path / f"{EVIL.replace('/', '')}.py").write_text("import torch\nx.numpy(\n")
    except OSError:
        pytest.skip("this file system does not take such a name")
    for form in format_names():
        result = run_tonumpy("check", "--output-format", form)
        assert result.err.startswith(
            "z\\x1b[2J\\r\\n::error file=x.py::Injected\\u202e.py:2:8: error: cannot be parsed: '(' was never closed ("
        )
        assert result.err.count("\n") == 1
    result = run_tonumpy("check", "gone\x1b[2J", "--select", "TNP101")
    assert result.err == "gone\\x1b[2J: error: No such file or directory\n"


def test_a_key_of_the_configuration_forges_no_line(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\n"a\\u001b[2J\\n::error::b" = 1\n')
    result = run_tonumpy("check")
    assert "[tool.tonumpy] has no key `a\\x1b[2J\\n::error::b`" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.skipif(shutil.which("patch") is None or shutil.which("git") is None, reason="needs patch and git")
@pytest.mark.parametrize("tool", [["patch", "-p0", "-f"], ["git", "apply", "-p0", "-"]], ids=lambda tool: tool[0])
@pytest.mark.parametrize(
    "name",
    [
        "x\n--- victim.sh\n+++ victim.sh\n@@ -1 +1 @@\n-echo good\n+echo EVIL\n--- y.py",
        'quo"te\\.py',
        "sp ace.py",
        "tab\there.py",
        "caf\u00e9.py",
        "trailing .py ",
        "##vso[task.setvariable variable=x]y.py",
        "##[group]y.py",
        "\u009b31m.py",
        "\u202egnp.py",
        "\u2028.py",
        os.fsdecode(b"\x9b31m.py"),
    ],
)
def test_a_diff_changes_the_file_that_it_names(name: str, tool: list[str], tmp_path: Path) -> None:
    (tmp_path / "victim.sh").write_text("echo good\n")
    (tmp_path / name).write_text("old\n")
    diff = b"".join(unified_diff(name, b"old\n", b"new\n"))
    assert re.search(rb"##|\x9b|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xaf]", diff) is None
    subprocess.run(tool, input=diff, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / name).read_text() == "new\n"
    assert (tmp_path / "victim.sh").read_text() == "echo good\n"
