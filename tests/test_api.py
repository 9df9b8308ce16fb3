"""The public functions, as a program that imports the package uses them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tonumpy
from tonumpy import Finding, SourceError, check_source, fix_source

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
