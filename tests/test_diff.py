"""The patch that `fix --diff` prints: what `patch` makes the new text of, in time that grows with the lines."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonumpy.repair.diff import unified_diff

if TYPE_CHECKING:
    from pathlib import Path

_LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"  x.numpy()", b""]), max_size=12)
_TEXTS = st.builds(
    lambda lines, end: b"\n".join(lines) + (end if lines else b""), _LINES, st.sampled_from([b"", b"\n"])
)


def _patched(patch: bytes, old: bytes) -> bytes:
    """By the format's own words: hunks of lines that stay, go and come."""
    lines, rows = patch.split(b"\n")[2:-1] if patch else [], old.split(b"\n")
    new: list[bytes] = []
    at = 0
    for number, line in enumerate(lines):
        sign, text = line[:1], line[1:]
        is_last = lines[number + 1 : number + 2] == [b"\\ No newline at end of file"]
        if line.startswith(b"@@ "):
            start, _, length = line.split(b" ")[1][1:].partition(b",")
            begin = int(start) - (length != b"0")
            new += [row + b"\n" for row in rows[at:begin]]
            at = begin
        elif sign in (b" ", b"-"):
            assert rows[at] == text
            at += 1
        if sign in (b" ", b"+"):
            new.append(text if is_last else text + b"\n")
    rest = b"\n".join(rows[at:])
    return b"".join(new) + rest


@given(_TEXTS, _TEXTS)
@settings(max_examples=150)
def test_the_patch_makes_the_new_text(old: bytes, new: bytes) -> None:
    assert _patched(b"".join(unified_diff("f", old, new)), old) == new


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is missing")
@pytest.mark.parametrize("new", ["a\nB\nc\n", "a\nc\n", "a\nb\nb\nc", "", "z\na\nb\nc\n"])
def test_patch_reads_it(tmp_path: Path, new: str) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    patch = b"".join(unified_diff("f", b"a\nb\nc\n", new.encode()))
    subprocess.run(["patch", "-s", "-p0"], input=patch, cwd=tmp_path, check=True)
    assert (not new and not (tmp_path / "f").exists()) or (tmp_path / "f").read_text() == new
