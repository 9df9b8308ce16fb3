"""`tonumpy server` as an editor meets it: a real client starts the command and talks with it over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter
from time_limits import PATIENCE, under_load

from tonumpy import check_source, fix_source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from cattrs import Converter

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
UNSAFE = "import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n"
BOTH = "import torch\n\n\ndef f(x: torch.Tensor, y):\n    return (\n        x.numpy(),\n        y.numpy(),\n    )\n"
# A character of two UTF-16 units, a form feed and a line separator, which end no line, before the finding.
WIDE = "import torch\n\x0c\nTEXT = '\u2028'\n\n\ndef f(x: torch.Tensor):\n    return '\U0001f600', x.numpy()\n"


def _converter() -> Converter:
    """pygls' own, and what lsprotocol forgets: a server's notebooks may be named by a word, or not at all."""
    converter = default_converter()
    kinds = (
        types.NotebookDocumentFilterNotebookType,
        types.NotebookDocumentFilterScheme,
        types.NotebookDocumentFilterPattern,
    )
    named = Union[(str, *kinds, type(None))]  # type: ignore[valid-type]
    converter.register_structure_hook(
        named, lambda value, _: converter.structure(value, kinds[0]) if isinstance(value, dict) else value
    )
    return converter


class Editor(LanguageClient):
    """An editor with one window: it keeps what it is told."""

    def __init__(self) -> None:
        super().__init__("editor", "1", converter_factory=_converter)
        self.diagnostics: dict[str, types.PublishDiagnosticsParams] = {}
        self.told = asyncio.Event()
        self.messages: list[str] = []

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _published(params: types.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri] = params
            self.told.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def _shown(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self.told.set()

    async def until(self, *places: tuple[str, int, int, int], uri: str) -> None:
        """Wait for exactly these diagnostics: code, line, start and end, all from 0."""
        while self.places(uri) != list(places):
            self.told.clear()
            try:
                await asyncio.wait_for(self.told.wait(), 20)
            except asyncio.TimeoutError:
                pytest.fail(f"{self.places(uri)} instead of {list(places)}, {self.messages}")

    def places(self, uri: str) -> list[tuple[object, int, int, int]] | None:
        if uri not in self.diagnostics:
            return None
        found = [(each.code, each.range) for each in self.diagnostics[uri].diagnostics]
        return [(code, place.start.line, place.start.character, place.end.character) for code, place in found]

    async def message(self) -> str:
        while not self.messages:
            self.told.clear()
            await asyncio.wait_for(self.told.wait(), 20)
        return self.messages.pop()

    def opened(self, path: Path, text: str) -> str:
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, types.LanguageKind.Python, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def notebook_opened(self, path: Path, *cells: str) -> tuple[str, list[str]]:
        """One with a cell of words behind the first; the addresses of the notebook and of its cells of code."""
        uri = path.as_uri()
        documents = [
            types.TextDocumentItem(f"{uri}#{number}", types.LanguageKind.Python, 1, text)
            for number, text in enumerate(cells)
        ]
        held = [types.NotebookCell(types.NotebookCellKind.Code, each.uri) for each in documents]
        held.insert(1, types.NotebookCell(types.NotebookCellKind.Markup, f"{uri}#words"))
        notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, held)
        self.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))
        return uri, [each.uri for each in documents]

    def notebook_edited(self, uri: str, version: int, changes: types.NotebookDocumentCellChanges) -> None:
        identifier = types.VersionedNotebookDocumentIdentifier(version=version, uri=uri)
        change = types.NotebookDocumentChangeEvent(cells=changes)
        self.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))

    async def hovered(self, uri: str, line: int, character: int) -> str | None:
        place = types.Position(line, character)
        found = await self.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), place))
        assert found is None or isinstance(found.contents, types.MarkupContent)
        return found.contents.value if found is not None else None  # type: ignore[union-attr]

    def edited(self, uri: str, version: int, text: str) -> None:
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def saved(self, uri: str) -> None:
        self.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def actions(self, uri: str, line: int, *only: str) -> dict[str, types.CodeAction]:
        """The actions that are offered at a line, by their titles."""
        place = types.Range(types.Position(line, 0), types.Position(line, 200))
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        found = await self.text_document_code_action_async(params) or []
        actions = [each for each in found if isinstance(each, types.CodeAction)]
        return {each.title: each for each in actions}


@asynccontextmanager
async def editor(
    folder: Path,
    options: object = None,
    encodings: list[str] | None = None,
    command: tuple[str, ...] = ("tonumpy", "server", "--stdio"),
) -> AsyncIterator[Editor]:
    client = Editor()
    await client.start_io(sys.executable, "-m", *command, cwd=folder)
    capabilities = types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=encodings),  # type: ignore[arg-type]
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
    )
    params = types.InitializeParams(capabilities, root_uri=folder.as_uri(), initialization_options=options)
    await client.initialize_async(params)
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), 20)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def edits_of(action: types.CodeAction) -> list[types.TextEdit]:
    """The edits of the one document that an action changes."""
    edit = action.edit
    assert edit is not None
    assert edit.changes is not None
    (edits,) = edit.changes.values()
    return list(edits)


def applied(text: str, action: types.CodeAction) -> str:
    """What an editor makes of its text, whose columns here are those of Python."""
    lines = text.splitlines(keepends=True)
    placed = sorted((each.range.start.line, each.range.start.character, each) for each in edits_of(action))
    for *_, each in reversed(placed):
        start, end = each.range.start, each.range.end
        assert start.line == end.line
        line = lines[start.line]
        lines[start.line] = line[: start.character] + each.new_text + line[end.character :]
    return "".join(lines)


def test_what_is_open_counts_and_not_what_is_on_the_disk(tmp_path: Path) -> None:
    async def talk() -> None:
        (tmp_path / "a.py").write_text("import torch\n")
        async with editor(tmp_path) as window:
            uri = window.opened(tmp_path / "a.py", SAFE)
            await window.until(("TNP101", 4, 13, 20), uri=uri)
            (diagnostic,) = window.diagnostics[uri].diagnostics
            (finding,) = check_source(SAFE)
            assert (diagnostic.message, diagnostic.source) == (finding.message, "tonumpy")
            assert diagnostic.code_description is not None
            assert diagnostic.code_description.href == finding.url
            window.edited(uri, 2, "\n" + SAFE)
            await window.until(("TNP101", 5, 13, 20), uri=uri)
            assert window.diagnostics[uri].version == 2
            window.edited(uri, 3, SAFE.replace("numpy()", "numpy()  # noqa: TNP101"))
            await window.until(uri=uri)
            window.edited(uri, 4, SAFE + "def (:\n")
            await window.until((None, 5, 4, 4), uri=uri)
            assert window.diagnostics[uri].diagnostics[0].message.startswith("cannot be parsed: invalid syntax")
            window.edited(uri, 5, SAFE)
            await window.until(("TNP101", 4, 13, 20), uri=uri)
            window.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
            await window.until(uri=uri)
            assert window.messages == []

    run(talk())


def test_a_module_that_is_saved_counts_for_those_that_import_it(tmp_path: Path) -> None:
    async def talk() -> None:
        made = "import torch\n\n\ndef made():\n    return torch.zeros(3{})\n"
        (tmp_path / "maker.py").write_text(made.format(""))
        user = "import torch\nfrom maker import made\n\nmade().numpy()\n"
        (tmp_path / "user.py").write_text(user)
        async with editor(tmp_path) as window:
            uri = window.opened(tmp_path / "user.py", user)
            await window.until(uri=uri)
            maker = window.opened(tmp_path / "maker.py", made.format(""))
            (tmp_path / "maker.py").write_text(made.format(", requires_grad=True"))
            window.saved(maker)
            await window.until(("TNP101", 3, 7, 14), uri=uri)
            (tmp_path / "maker.py").write_text(made.format(""))
            window.saved(maker)
            await window.until(uri=uri)

    run(talk())


@pytest.mark.parametrize(("encodings", "start"), [(None, 19), (["utf-8"], 21)])
def test_columns_are_counted_as_the_editor_counts_them(tmp_path: Path, encodings: list[str] | None, start: int) -> None:
    async def talk() -> None:
        async with editor(tmp_path, encodings=encodings) as window:
            uri = window.opened(tmp_path / "a.py", WIDE)
            await window.until(("TNP101", 6, start, start + 7), uri=uri)
            action = (await window.actions(uri, 6, "quickfix"))["Add `.detach().cpu()` (TNP101)"]
            (edit,) = edits_of(action)
            assert edit.range.start == edit.range.end == types.Position(6, start - 1)

    run(talk())


def test_quick_fixes_one_and_all_safe_and_unsafe_and_a_hover(tmp_path: Path) -> None:
    async def talk() -> None:
        async with editor(tmp_path) as window:
            uri = window.opened(tmp_path / "a.py", BOTH)
            actions = await window.actions(uri, 5) | await window.actions(uri, 6)
            one = "Add `.detach().cpu()` (TNP101)"
            other = "Add `.detach().cpu()` (TNP101, unsafe)"
            safe = "tonumpy: Fix all that is safe"
            assert [*actions] == [one, safe, other]
            assert applied(BOTH, actions[one]) == fix_source(BOTH)
            assert applied(BOTH, actions[other]) == BOTH.replace("y.numpy", "y.detach().cpu().numpy")
            assert applied(BOTH, actions[safe]) == fix_source(BOTH)
            assert [actions[each].is_preferred for each in (one, other)] == [True, False]
            assert [actions[each].kind for each in (one, safe)] == ["quickfix", "source.fixAll.tonumpy"]
            # before a file is saved, editors ask for this alone
            for kind in ("source.fixAll", "source.fixAll.tonumpy", "source"):
                assert list(await window.actions(uri, 0, kind)) == [safe]
            assert list(await window.actions(uri, 0)) == [safe]
            assert await window.actions(uri, 4, "refactor") == {}
            uri = window.opened(tmp_path / "b.py", SAFE)

            text = await window.hovered(uri, 4, 15)
            assert text is not None
            (finding,) = check_source(SAFE)
            told = f"(medium confidence): {finding.message}\n\nsafe: Add `.detach().cpu()`"
            assert text.startswith(f"**[TNP101]({finding.url})** {told}")
            line = "- code: unknown from this line on (b.py:4)\n"
            assert f"**device:** unknown, may be a GPU\n{line}" in text
            assert await window.hovered(uri, 0, 0) is None
            assert await window.hovered(uri, 99, 0) is None
            # of a silence, too
            uri = window.opened(tmp_path / "c.py", "import torch\n\nARRAY = torch.zeros(3).numpy()\n")
            text = await window.hovered(uri, 2, 25)
            assert text is not None
            assert text.startswith("Not reported by tonumpy.\n\n**kind:** torch tensor (proved)")
            assert "**grad:** does not require grad" in text

    run(talk())


TENSOR = "import torch\nx: torch.Tensor = torch.nn.Parameter(torch.zeros(2))"


def content(uri: str, version: int, text: str) -> types.NotebookDocumentCellChanges:
    """The change of the text of one cell."""
    change = types.TextDocumentContentChangeWholeDocument(text)
    identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
    contents = types.NotebookDocumentCellContentChanges(identifier, [change])
    return types.NotebookDocumentCellChanges(text_content=[contents])


def test_the_cells_of_a_notebook(tmp_path: Path) -> None:
    cells = [TENSOR, "%cd ..\n'\U0001f600', x.numpy()\n", "  %time x.numpy()\n  y = x.numpy()"]

    async def talk() -> None:
        async with editor(tmp_path) as window:
            notebook, (first, second, third) = window.notebook_opened(tmp_path / "a b.ipynb", *cells)
            await window.until(uri=first)
            await window.until(("TNP101", 1, 8, 15), uri=second)
            await window.until(("TNP101", 0, 10, 17), ("TNP101", 1, 8, 15), uri=third)

            actions = await window.actions(third, 1)
            one, everywhere = "Add `.detach().cpu()` (TNP101)", "tonumpy: Fix all that is safe"
            assert list(actions) == [one, everywhere]
            assert applied(cells[2], actions[one]) == cells[2].replace("y = x", "y = x.detach().cpu()")
            edit = actions[everywhere].edit
            assert edit is not None
            assert [(uri, len(edits)) for uri, edits in (edit.changes or {}).items()] == [(second, 1), (third, 2)]
            assert await window.actions(second, 0, "source.fixAll") == {}
            assert list(await window.actions(first, 0, "notebook.source.fixAll.tonumpy")) == [everywhere]
            assert await window.actions(f"{notebook}#words", 0) == {}

            text = await window.hovered(third, 0, 12)
            assert text is not None
            assert text.startswith("**[TNP101](")
            assert await window.hovered(third, 9, 0) is None
            assert await window.hovered(f"{notebook}#words", 0, 0) is None

            # what one cell says holds for those behind it
            window.notebook_edited(notebook, 2, content(first, 2, "import torch\nx = torch.zeros(2)"))
            await window.until(uri=second)
            await window.until(uri=third)
            assert window.diagnostics[first].version == 2

            # a cell that cannot be parsed, beside one that can
            window.notebook_edited(notebook, 3, content(first, 3, TENSOR))
            window.notebook_edited(notebook, 4, content(third, 2, "a = 1\ndef (:"))
            await window.until((None, 1, 4, 4), uri=third)
            await window.until(("TNP101", 1, 8, 15), uri=second)

            # one cell goes, another comes
            new = types.TextDocumentItem(f"{notebook}#new", types.LanguageKind.Python, 1, "x.numpy()")
            cell = types.NotebookCell(types.NotebookCellKind.Code, new.uri)
            structure = types.NotebookDocumentCellChangeStructure(
                types.NotebookCellArrayChange(3, 1, [cell]), [new], [types.TextDocumentIdentifier(third)]
            )
            window.notebook_edited(notebook, 5, types.NotebookDocumentCellChanges(structure=structure))
            await window.until(("TNP101", 0, 2, 9), uri=new.uri)
            await window.until(uri=third)
            identifier = types.NotebookDocumentIdentifier(notebook)
            (tmp_path / "pyproject.toml").write_text("[tool.tonumpy.per-file-ignores]\n'*.ipynb' = ['TNP1']\n")
            window.notebook_document_did_save(types.DidSaveNotebookDocumentParams(identifier))
            await window.until(uri=new.uri)
            (tmp_path / "pyproject.toml").unlink()
            window.notebook_document_did_save(types.DidSaveNotebookDocumentParams(identifier))
            await window.until(("TNP101", 1, 8, 15), uri=second)

            open_cells = [types.TextDocumentIdentifier(uri) for uri in (first, second, new.uri)]
            window.notebook_document_did_close(types.DidCloseNotebookDocumentParams(identifier, open_cells))
            await window.until(uri=second)
            assert window.messages == []

    run(talk())


def test_a_hover_in_a_cell_names_cells(tmp_path: Path) -> None:
    async def talk() -> None:
        async with editor(tmp_path) as window:
            cells = (TENSOR, "def f(labels):\n    return labels.cpu().numpy()")
            _, (_, second) = window.notebook_opened(tmp_path / "a.ipynb", *cells)
            await window.until(uri=second)
            text = await window.hovered(second, 1, 25)
            assert text is not None
            assert "- habit label-name: `labels` is named like a label" in text
            assert text.endswith("(a.ipynb:cell 2:1)")

    run(talk())


def test_settings_come_from_files_and_from_the_editor(tmp_path: Path) -> None:
    async def talk() -> None:
        strict = "import torch\n\nARRAY = torch.zeros(3).numpy()\n"
        pyproject = tmp_path / "pyproject.toml"
        pyproject.write_text("[tool.tonumpy]\nstrict = true\nexclude = ['vendor']\n")
        async with editor(tmp_path) as window:
            uri = window.opened(tmp_path / "a.py", strict)
            await window.until(("TNP300", 2, 23, 30), uri=uri)
            vendored = window.opened(tmp_path / "vendor" / "a.py", SAFE)
            await window.until(uri=vendored)

            pyproject.write_text("[tool.tonumpy]\n")
            event = types.FileEvent(pyproject.as_uri(), types.FileChangeType.Changed)
            window.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            await window.until(uri=uri)
            await window.until(("TNP101", 4, 13, 20), uri=vendored)

            said = {"tonumpy": {"strict": True, "unsafeFixes": True}}
            window.workspace_did_change_configuration(types.DidChangeConfigurationParams(said))
            await window.until(("TNP300", 2, 23, 30), uri=uri)
            said = {"tonumpy": {"strct": True}}
            window.workspace_did_change_configuration(types.DidChangeConfigurationParams(said))
            assert "has no key `strct`; did you mean `strict`?" in await window.message()

            pyproject.write_text("[tool.tonumpy]\nstrict = 1\n")
            window.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            assert "pyproject.toml: [tool.tonumpy] strict: expected true or false" in await window.message()
        pyproject.unlink()
        async with editor(tmp_path, {"settings": {"ignore": ["TNP1"]}}) as window:
            uri = window.opened(tmp_path / "b.py", SAFE)
            await window.until(uri=uri)

    run(talk())


def test_what_is_asked_for_in_vain_is_cancelled_and_the_answer_is_quick(tmp_path: Path) -> None:
    async def talk() -> None:
        async with editor(tmp_path) as window:
            function = "def f{0}(x: torch.Tensor):\n    return x.numpy()\n\n\n"
            slow = "import torch\n" + "".join(function.format(number) for number in range(1500))
            uri = window.opened(tmp_path / "slow.py", slow)
            params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(2, 15))
            asked = window.protocol.send_request_async(types.TEXT_DOCUMENT_HOVER, params, msg_id="in vain")
            waiting = asyncio.ensure_future(asked)
            await asyncio.sleep(0)
            window.cancel_request(types.CancelParams("in vain"))
            with pytest.raises(Exception, match="is canceled"):
                await waiting
            # of a burst of changes only the last is told of, and the server goes on answering
            for version in range(2, 30):
                window.edited(uri, version, SAFE if version == 29 else slow + f"# {version}\n")
            await window.until(("TNP101", 4, 13, 20), uri=uri)
            assert window.diagnostics[uri].version == 29

            times = []
            for version in range(30, 40):
                start = time.perf_counter()
                window.edited(uri, version, f"{SAFE}# {version}\n")
                while window.diagnostics[uri].version != version:
                    window.told.clear()
                    await asyncio.wait_for(window.told.wait(), PATIENCE)
                times.append(time.perf_counter() - start)
            assert sorted(times)[5] < under_load(1), times

    run(talk())


def test_without_its_libraries_the_server_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')\n")
    hiding = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "tonumpy", "server"], env=hiding, capture_output=True, text=True)
    assert done.returncode == 2
    needed = "the server needs pygls: in a clone of tonumpy, run `pip install '.[server]'`"
    assert done.stderr == f"tonumpy: error: {needed}\n"


def _spoken(*messages: dict[str, object]) -> Iterator[bytes]:
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        yield b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    ("goodbye", "code"),
    [(("shutdown", "exit"), 0), (("exit",), 1), ((), 1), (("shutdown",), 0)],
    ids=["in order", "exit alone", "the editor is gone", "gone behind its shutdown"],
)
def test_the_exit_code_of_the_server_is_that_of_the_protocol(
    tmp_path: Path, goodbye: tuple[str, ...], code: int
) -> None:
    said: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
    ]
    said += [{"method": each, **({"id": 2} if each == "shutdown" else {})} for each in goodbye]
    done = subprocess.run(
        [sys.executable, "-m", "tonumpy", "server"],
        cwd=tmp_path,
        input=b"".join(_spoken(*said)),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr and b"error" not in done.stderr, done.stderr.decode()
    assert done.stdout.count(b"Content-Length") == 1 + goodbye.count("shutdown")
