"""docs/editors.md in real editors, where they are at hand."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from readme import ROOT
from time_limits import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (ROOT / "docs" / "editors.md").read_text("utf-8")
DRIVE = """
local out = io.open("out.txt", "w")
local function first_line() return vim.api.nvim_buf_get_lines(0, 2, 3, false)[1] end
vim.cmd("edit a.py")
vim.wait(600000, function() return #vim.diagnostic.get(0) > 0 end, 10)
for _, each in ipairs(vim.diagnostic.get(0)) do out:write(each.lnum, ":", each.col, " ", each.code, "\\n") end
local at = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = 2, character = 40 } }
for _, each in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", at, 20000)) do
    out:write(each.result.contents.value:match("[^\\n]*"), "\\n")
end
vim.lsp.buf.code_action({ context = { only = { "source.fixAll.tonumpy" }, diagnostics = {} }, apply = true })
vim.wait(600000, function() return first_line():find("detach") end, 10)
vim.wait(600000, function() return #vim.diagnostic.get(0) == 0 end, 10)
out:write(first_line(), "\\n", #vim.diagnostic.get(0), "\\n")
out:close()
vim.cmd("qa!")
"""


@pytest.fixture
def neovim() -> str:
    """One from 0.11 on, which the first of the snippets needs."""
    pytest.importorskip("pygls")
    program = shutil.which("nvim", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])))
    if program is None:
        pytest.skip("Neovim is not at hand")
    first, *_ = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()
    version = tuple(map(int, re.findall(r"\d+", first)[:2]))
    if version < (0, 11):
        pytest.skip(f"{first} is older than 0.11")
    return program


@pytest.mark.parametrize("snippet", re.findall(r"^```lua\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_neovim(snippet: str, neovim: str, tmp_path: Path) -> None:
    line = "def f(x: torch.Tensor): return '\u00e9', x.numpy()"
    (tmp_path / "a.py").write_text(f"import torch\n\n{line}\n", "utf-8")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "init.lua").write_text(snippet)
    (tmp_path / "drive.lua").write_text(DRIVE)
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = [neovim, "--headless", "--clean", "-u", "init.lua", "-c", "luafile drive.lua", "-c", "qa!"]
    subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    column = len(line[: line.index("numpy")].encode())
    fixed = line.replace(".numpy", ".detach().cpu().numpy")
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == [
        f"2:{column} TNP101",
        "**TNP101 bare-numpy** (medium confidence)",
        fixed,
        "0",
    ]


HELIX = next(iter(re.findall(r"^```toml\n(\[language-server.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)))


def test_the_file_of_helix() -> None:
    """It is valid, and names the command."""
    if sys.version_info < (3, 11):
        pytest.skip("tomllib is there from Python 3.11 on")
    import tomllib

    read = tomllib.loads(HELIX)
    server = read["language-server"]["tonumpy"]
    assert [server["command"], *server["args"]] == ["tonumpy", "server"]
    assert {"tonumpy"} <= {name for each in read["language"] for name in each["language-servers"]}


def test_helix(tmp_path: Path) -> None:
    """The finding is on the screen, and `space a`, Return makes the repair."""
    pytest.importorskip("pygls")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    program = shutil.which("hx", path=path) or shutil.which("helix", path=path)
    if program is None:
        pytest.skip("Helix is not at hand")
    line = "def f(x: torch.Tensor): return '\u00e9', x.numpy()"
    file = tmp_path / "a.py"
    file.write_text(f"import torch\n\n{line}\n", "utf-8")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "helix").mkdir()
    (tmp_path / "helix" / "languages.toml").write_text(HELIX, "utf-8")
    folders = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), str(tmp_path))
    environment = os.environ | folders | {"PATH": path, "TERM": "xterm-256color"}
    with Screen([program, "a.py:3:40"], tmp_path, environment) as screen:
        screen.wait_for("TypeError")  # the last word of the message
        screen.type(" a")
        screen.wait_for("(TNP101)")
        screen.type("\r:wq\r")
        screen.wait_for_end()
    assert file.read_text("utf-8").splitlines()[2] == line.replace(".numpy", ".detach().cpu().numpy")


class Screen:
    """A program in a pseudo-terminal, and all that it has written there."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        import pty  # not on Windows

        self._written = b""
        self._terminal, other_end = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), other_end)
        self._process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams)
        os.close(other_end)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        self._read(lambda: text.encode() in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", self._written), text)

    def wait_for_end(self) -> None:
        self._read(lambda: self._process.poll() is not None, "its end")

    def _read(self, until: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, f"no {what} in time of {self._written!r}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):  # the end, on Linux
                    self._written += os.read(self._terminal, 65536)
