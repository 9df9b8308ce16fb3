"""docs/editors.md in real editors, where they are at hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text("utf-8")
DRIVE = """
local out = io.open("out.txt", "w")
local function first_line() return vim.api.nvim_buf_get_lines(0, 2, 3, false)[1] end
vim.cmd("edit a.py")
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 10)
for _, each in ipairs(vim.diagnostic.get(0)) do out:write(each.lnum, ":", each.col, " ", each.code, "\\n") end
local at = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = 2, character = 40 } }
for _, each in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", at, 20000)) do
    out:write(each.result.contents.value:match("[^\\n]*"), "\\n")
end
vim.lsp.buf.code_action({ context = { only = { "source.fixAll.tonumpy" }, diagnostics = {} }, apply = true })
vim.wait(20000, function() return first_line():find("detach") end, 10)
vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 10)
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
    subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, timeout=90, check=True)
    column = len(line[: line.index("numpy")].encode())
    fixed = line.replace(".numpy", ".detach().cpu().numpy")
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == [
        f"2:{column} TNP101",
        "**TNP101 bare-numpy** (medium confidence)",
        fixed,
        "0",
    ]


def test_helix() -> None:
    """Its file is valid, and names the command; the editor itself has been tried by nobody here."""
    if sys.version_info < (3, 11):
        pytest.skip("tomllib is there from Python 3.11 on")
    import tomllib

    (snippet,) = re.findall(r"^```toml\n(\[language-server.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    read = tomllib.loads(snippet)
    server = read["language-server"]["tonumpy"]
    assert [server["command"], *server["args"]] == ["tonumpy", "server"]
    assert {"tonumpy"} <= {name for each in read["language"] for name in each["language-servers"]}
