"""`tonumpy check` and flake8 side by side: the same places, selection, `noqa` and exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FLAGGED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"

SOURCES = {
    "plain": FLAGGED.encode(),
    "no last newline": FLAGGED.rstrip().encode(),
    "CRLF": FLAGGED.replace("\n", "\r\n").encode(),
    "CR": FLAGGED.replace("\n", "\r").encode(),
    "BOM": b"\xef\xbb\xbf" + FLAGGED.encode(),
    "form feed": (HEAD + "    a = 1\n\f\n    return x.numpy()\n").encode(),
    "tabs": (HEAD + "\ta = '\t'; return x.numpy()\n").encode(),
    "latin-1": ("# coding: latin-1\n" + HEAD + "    é = 'é'; return x.numpy()\n").encode("latin-1"),
    "wide characters": (HEAD + "    größe = '日本🙂'; return größe, x.numpy()\n").encode(),
    "separators that end no line": (HEAD + "    s = '\x85\u2028\x1c'; return s, x.numpy()\n").encode(),
    "noqa": (HEAD + "    x.numpy()  # noqa\n    y.numpy()\n").encode(),
    "noqa with a code": (HEAD + "    x.numpy()  # noqa: TNP101\n    y.cpu().numpy()  # noqa: TNP101\n").encode(),
    "noqa with the beginning of a code": (HEAD + "    x.numpy()  # noqa: TNP1\n    y.numpy()  # noqa: TNP2\n").encode(),
    "noqa in other cases": (HEAD + "    x.numpy()  # NoQA:tnp101\n    y.numpy()  # NOQA : TNP101\n").encode(),
    "noqa with several codes": (
        HEAD + "    x.numpy()  # noqa: E501, TNP101\n    y.numpy()  # noqa:E1 TNP101\n"
    ).encode(),
    "noqa with words": (HEAD + "    x.numpy()  # noqa because\n    y.numpy()  # noqa: because\n").encode(),
    "noqa in a string": (HEAD + "    return x.numpy(), '# noqa'\n").encode(),
    "noqa after a multi-line string": (HEAD + "    return x.numpy(), '''\n    '''  # noqa\n").encode(),
    "noqa after a backslash": (HEAD + "    return x.numpy(), \\\n        y.numpy()  # noqa\n").encode(),
    "noqa at the end of brackets": (
        HEAD + "    return (\n        x.numpy(),\n        y.numpy(),  # noqa\n    )\n"
    ).encode(),
    "noqa for the file": (FLAGGED + "# flake8: noqa\n").encode(),
    "noqa for the file and a code": ("# flake8: noqa: TNP101\n" + FLAGGED).encode(),
    "noqa for the file beside code": ("import os  # flake8: noqa\n" + FLAGGED).encode(),
    "tensorflow": FLAGGED.replace("torch", "tensorflow").encode(),
    "empty": b"",
}


def run(tool: str, *arguments: str, folder: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", tool, *arguments], cwd=folder, input=stdin, capture_output=True)


def places(run: subprocess.CompletedProcess[bytes]) -> list[tuple[str, str, str, str]]:
    assert run.stderr == b""
    lines = re.findall(r"^(?:\./)?(.+?):(\d+):(\d+): (TNP\d+) ", run.stdout.decode(), flags=re.MULTILINE)
    return sorted(lines)


def test_places_and_noqa(tmp_path: Path) -> None:
    """One run of each over all the sources, so that the two of them are compared and not their expectations."""
    for number, data in enumerate(SOURCES.values()):
        (tmp_path / f"source_{number:02}.py").write_bytes(data)
    ours, theirs = run("tonumpy", "check", folder=tmp_path), run("flake8", "--select=TNP", folder=tmp_path)
    names = {f"source_{number:02}.py": name for number, name in enumerate(SOURCES)}
    found = [(names[file], *rest) for file, *rest in places(ours)]
    assert found == [(names[file], *rest) for file, *rest in places(theirs)]
    # Neither is silent, nor loud, about everything. (Some cases differ between the versions of flake8.)
    reported = {name for name, *_ in found}
    assert {"plain", "CR", "latin-1", "noqa", "noqa with a code", "noqa at the end of brackets"} <= reported
    assert reported.isdisjoint({"noqa in a string", "noqa after a backslash", "noqa for the file", "tensorflow"})
    assert ours.returncode == theirs.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--select=TNP101"],
        ["--select=TNP1"],
        ["--select=TNP3"],
        ["--select=TNP1,TNP300"],
        ["--ignore=TNP101"],
        ["--select=TNP", "--ignore=TNP102,TNP103"],
        ["--select=TNP102", "--ignore=TNP1"],
        ["--select=TNP", "--ignore=TNP"],
    ],
    ids=" ".join,
)
def test_selection(tmp_path: Path, arguments: list[str]) -> None:
    body = "    x.numpy(), x.cpu().numpy(), x.detach().numpy(), torch.zeros(3).numpy()\n"
    (tmp_path / "module.py").write_text(HEAD.replace(", y: torch.Tensor", "") + body)
    ours, theirs = run("tonumpy", "check", *arguments, folder=tmp_path), run("flake8", *arguments, folder=tmp_path)
    assert places(ours) == places(theirs)


def test_standard_input(tmp_path: Path) -> None:
    stdin = SOURCES["wide characters"]
    ours = run("tonumpy", "check", "--stdin-filename=a/b.py", "-", folder=tmp_path, stdin=stdin)
    theirs = run("flake8", "--select=TNP", "--stdin-display-name=a/b.py", "-", folder=tmp_path, stdin=stdin)
    assert places(ours) == places(theirs) == [("a/b.py", "5", "36", "TNP101")]


@pytest.mark.parametrize(("text", "code"), [(FLAGGED, 1), (FLAGGED.replace("return x.numpy()", "return x"), 0)])
def test_exit_codes(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "module.py").write_text(text)
    assert run("tonumpy", "check", folder=tmp_path).returncode == code
    assert run("flake8", "--select=TNP", folder=tmp_path).returncode == code
