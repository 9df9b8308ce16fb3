"""The public functions, as a program that imports the package uses them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tonumpy
from tonumpy import ConfigError, Finding, SourceError, check_paths, check_source, fix_source

if TYPE_CHECKING:
    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
UNSAFE = "import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n"
STRICT = "import torch\n\nARRAY = torch.zeros(3).numpy()\n"


def test_check_source() -> None:
    (finding,) = check_source(SAFE, "a.py")
    assert isinstance(finding, Finding)
    assert (finding.filename, finding.code, finding.start, finding.end) == ("a.py", "TNP101", (5, 14), (5, 21))
    assert finding.fix is not None
    assert finding.fix.applicability == "safe"
    assert check_source(SAFE.encode()) == check_source(SAFE)
    assert check_source("") == []


def test_check_source_takes_the_options_of_the_command() -> None:
    assert check_source(SAFE, select=["TNP102"]) == []
    assert check_source(SAFE, ignore=["TNP1"]) == []
    assert [finding.code for finding in check_source(STRICT, strict=True)] == ["TNP300"]
    (finding,) = check_source(SAFE, style="force")
    assert finding.fix is not None
    assert "force=True" in finding.fix.edits[0].content
    assert check_source(SAFE.replace("numpy()", "numpy()  # noqa")) == []


def test_fix_source_returns_the_type_that_it_was_given() -> None:
    text: str = fix_source(SAFE)
    data: bytes = fix_source(b"\xef\xbb\xbf" + SAFE.replace("\n", "\r\n").encode())
    assert text == SAFE.replace("x.numpy", "x.detach().cpu().numpy")
    assert data == b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    assert fix_source(text) == text


def test_fix_source_applies_unsafe_fixes_on_demand_only() -> None:
    assert fix_source(UNSAFE) == UNSAFE
    assert fix_source(UNSAFE, unsafe=True) == UNSAFE.replace("x.numpy", "x.detach().cpu().numpy")
    assert fix_source(SAFE, style="force") == SAFE.replace("numpy()", "numpy(force=True)")
    assert fix_source(STRICT, strict=True) == STRICT.replace(".numpy", ".detach().cpu().numpy")
    noqa = SAFE.replace("numpy()", "numpy()  # noqa")
    assert fix_source(noqa) == noqa


def test_check_paths_finds_what_the_command_finds(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text(SAFE)
    (tmp_path / "package" / "b.py").write_text("import torch\nx.numpy(\n")
    (tmp_path / "package" / "c.py").write_text(STRICT)
    (tmp_path / "package" / "d.py").write_bytes(b"'\xff'")  # holds nothing, so that nobody is concerned
    (tmp_path / "package" / "plots.py").write_text(
        "import numpy as np\nimport torch\nnp.asarray(torch.zeros(3, requires_grad=True))\n"
    )
    checked = check_paths([tmp_path / "package", str(tmp_path / "missing")])
    assert [(Path(each.filename).name, each.code) for each in checked.findings] == [
        ("a.py", "TNP101"),
        ("plots.py", "TNP104"),
    ]
    assert [Path(error.filename).name for error in checked.errors] == ["missing", "b.py"]
    assert checked.warnings == []
    reported = run_tonumpy("check", "--quiet", "--output-format", "json", str(tmp_path / "package"))
    assert [entry["code"] for entry in json.loads(reported.out)] == ["TNP101", "invalid-syntax", "TNP104"]

    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nstrict = true\nexclude = ['a.py']\n")
    assert [each.code for each in check_paths([tmp_path / "package"]).findings] == ["TNP300", "TNP104"]
    assert [each.code for each in check_paths([tmp_path / "package"], isolated=True, jobs=0).findings] == [
        "TNP101",
        "TNP104",
    ]
    assert check_paths([tmp_path / "package"], select=["TNP102"]).findings == []
    (tmp_path / "empty").mkdir()
    empty = check_paths([tmp_path / "empty"])
    assert (empty.errors, empty.warnings) == ([], ["no Python files found under the given paths"])
    assert check_paths([]).errors == []
    with pytest.raises(ConfigError, match="there is no"):
        check_paths([], config=tmp_path / "package" / "a.py")
    with pytest.raises(ValueError, match="no rule has the code `X`"):
        check_paths([], select=["X"])


@pytest.mark.parametrize("function", [check_source, fix_source])
def test_errors(function: object) -> None:
    assert callable(function)
    with pytest.raises(SourceError) as caught:
        function("x.numpy(\n", "a.py")
    assert caught.value.filename == "a.py"
    assert caught.value.position == (1, 8)
    with pytest.raises(SourceError, match="cannot be decoded"):
        function(b"'\xff'.numpy()")
    with pytest.raises(ValueError, match="no rule has the code `X`"):
        function(SAFE, select=["X"])
    with pytest.raises(ValueError, match="expected a list of strings"):
        function(SAFE, select="TNP101")


def test_everything_public_is_there() -> None:
    for name in tonumpy.__all__:
        assert getattr(tonumpy, name).__module__.startswith("tonumpy.")
        assert name in dir(tonumpy)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tonumpy.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import tonumpy; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['__future__', 'tonumpy']\n"


def test_paths_with_nothing_but_a_comment(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import os  # noqa: TNP101\n")
    checked = check_paths([tmp_path], isolated=True, select=["TNP901"])
    assert [finding.code for finding in checked.findings] == ["TNP901"]
