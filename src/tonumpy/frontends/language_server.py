"""A server for the Language Server Protocol over stdio: diagnostics, quick fixes and hovers for an editor.

One thread does all the analysis, so that the loop that reads messages always answers; of several versions of a document
that wait for it only the last is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tonumpy import __version__
from tonumpy.config import Choices, ConfigError, read_table
from tonumpy.findings import Edit, Position
from tonumpy.frontends.workbench import Workbench
from tonumpy.rules import all_rules
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pygls.workspace import PositionCodec, TextDocument

    from tonumpy.findings import Explanation, Finding, SourceError, Sureness
    from tonumpy.frontends.workbench import Checked

FIX_ALL = "source.fixAll.tonumpy"
FIX_NOTEBOOK = "notebook.source.fixAll.tonumpy"  # all cells; the other action is of one cell there

_PAUSE = 0.02  # seconds that a document must have been left alone: a burst of keys is looked at once
_NAME = "numpy"
_REPAIRS = {"safe": "", "unsafe": ", unsafe"}
_SEVERITIES: dict[Sureness, types.DiagnosticSeverity] = {
    "observed": types.DiagnosticSeverity.Error,
    "high": types.DiagnosticSeverity.Error,
    "medium": types.DiagnosticSeverity.Warning,
    "low": types.DiagnosticSeverity.Information,
}
_SELECTED = [types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK]
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])], save=True
)

_log = logging.getLogger(__name__)


class _Opened(NamedTuple):
    """What is looked at as one: a document by itself, or a notebook with the documents of its cells of Python."""

    uri: str
    documents: tuple[TextDocument, ...]
    is_notebook: bool

    @property
    def path(self) -> str:
        return _path_of(self.uri)

    @property
    def text(self) -> str | tuple[str, ...]:
        texts = tuple(document.source for document in self.documents)
        return texts if self.is_notebook else texts[0]


class Server(LanguageServer):
    """The documents that are open, and what was last found in them."""

    def __init__(self) -> None:
        super().__init__(
            "tonumpy",
            __version__,
            # Whole documents, as pygls counts other characters than the protocol does as the end of a line.
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=_NOTEBOOKS,
        )
        self.workbench = Workbench()
        self.options: object = None
        self.is_told_to_stop = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tonumpy")
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._complaints: set[str] = set()

    # Documents

    def opened(self, uri: str) -> _Opened | None:
        """A document that is open, or the notebook of this address or with such a cell."""
        documents = self.workspace.text_documents
        notebooks = self.workspace
        notebook = notebooks.get_notebook_document(notebook_uri=uri) or notebooks.get_notebook_document(cell_uri=uri)
        if notebook is None:
            document = documents.get(unquote(uri))
            return None if document is None else _Opened(uri, (document,), is_notebook=False)
        addresses = (unquote(cell.document) for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code)
        cells = tuple(documents[each] for each in addresses if each in documents)
        return _Opened(notebook.uri, cells, is_notebook=True)

    def all_opened(self) -> list[_Opened]:
        opened = [self.opened(uri) for uri in (*self.workspace.text_documents, *self.workspace.notebook_documents)]
        return list({each.uri: each for each in opened if each is not None}.values())

    def changed(self, uri: str, wait: float = 0.0) -> None:
        """Look at a document, or at a notebook, unless it changes again before its turn comes."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri, wait))

    def everything_changed(self) -> None:
        for each in self.all_opened():
            self.changed(each.uri)

    def closed(self, uri: str) -> None:
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._thread.submit(self.workbench.close, _path_of(uri))

    def gone(self, uri: str) -> None:
        """Nothing is shown any more of a document, or of a cell."""
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    async def _publish(self, uri: str, wait: float) -> None:
        await asyncio.sleep(wait)
        checked = await self.checked(uri)
        opened = self.opened(uri)
        if checked is None or opened is None or opened.text != checked.text:
            return  # it has changed meanwhile, and has its turn again
        found: dict[int, list[types.Diagnostic]] = {number: [] for number in range(len(opened.documents))}
        for finding in checked.findings:
            number, diagnostic = self._diagnostic(finding, checked, opened)
            found[number].append(diagnostic)
        for error in checked.errors if opened.documents else ():
            number, diagnostic = self._diagnostic_of_error(error, opened)
            found[number].append(diagnostic)
        for number, document in enumerate(opened.documents):
            params = types.PublishDiagnosticsParams(document.uri, found[number], version=document.version)
            self.text_document_publish_diagnostics(params)

    async def checked(self, uri: str) -> Checked | None:
        """What is found in a document as it is now, or in the notebook of a cell; None for one that is not open or
        whose configuration is wrong."""
        opened = self.opened(uri)
        if opened is None:
            return None
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self.workbench.check, opened.path, opened.text)
        except ConfigError as error:
            self.complain(str(error))
            return None

    async def repaired(self, checked: Checked, findings: Sequence[Finding]) -> tuple[Edit, ...]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self.workbench.repair, checked, findings)

    # Configuration

    async def configure(self, settings: object) -> None:
        """Take what the editor says, in the shape of `[tool.tonumpy]`; where it is wrong, what it said before holds."""
        root = self.workspace.root_path or os.getcwd()
        try:
            # The path that is given is that of a file in the folder to which the settings are relative.
            said = read_table(_in_dashes(settings or {}), os.path.join(root, "the editor's settings"))
        except ConfigError as error:
            self.complain(str(error))
            return
        await self.forget(said)

    async def forget(self, said: Choices | None = None) -> None:
        """Files have changed, or what the editor says: what was read of them no longer holds."""
        self._complaints.clear()
        opened = {each.path: each.text for each in self.all_opened() if isinstance(each.text, str)}
        await asyncio.get_running_loop().run_in_executor(self._thread, self.workbench.forget, opened, said)
        self.everything_changed()

    def complain(self, text: str) -> None:
        """Once, not at every key."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tonumpy: {text}"))

    # The protocol's shapes

    def _diagnostic(self, finding: Finding, checked: Checked, opened: _Opened) -> tuple[int, types.Diagnostic]:
        """With the number, from 0, of the document that it belongs to."""
        number, place = self._place(checked.source, finding.start, finding.end)
        return number, types.Diagnostic(
            place,
            finding.message,
            severity=_SEVERITIES[finding.confidence],
            code=finding.code,
            code_description=types.CodeDescription(finding.url),
            source="tonumpy",
            related_information=self._related(finding, checked, opened) or None,
        )

    def _related(self, finding: Finding, checked: Checked, opened: _Opened) -> list[types.DiagnosticRelatedInformation]:
        """The other lines that a finding speaks of, in its document or notebook, for editors that show such."""
        document = self.client_capabilities.text_document
        asked = document.publish_diagnostics if document else None
        found = []
        for each in finding.evidence if asked and asked.related_information else ():
            if each.row and each.filename == finding.filename:
                number, place = self._place(checked.source, *(2 * [Position(each.row, 1)]))
                where = types.Location(opened.documents[number].uri, place)
                found.append(types.DiagnosticRelatedInformation(where, each.words))
        return found

    def _diagnostic_of_error(self, error: SourceError, opened: _Opened) -> tuple[int, types.Diagnostic]:
        number = (error.cell or 1) - 1
        text = Source.from_text(opened.documents[number].source, opened.path)
        _, place = self._place(text, *(2 * [error.position or Position(1, 1)]))
        severity = types.DiagnosticSeverity.Error
        return number, types.Diagnostic(place, error.reason, severity=severity, source="tonumpy")

    def _place(self, source: Source, start: Position, end: Position) -> tuple[int, types.Range]:
        """The number, from 0, of the document that a place is in, and the place there."""
        number, first = source.cell_at(start.row)
        codec = self.workspace.position_codec
        return number - 1, types.Range(*(_position(source, each, first, codec) for each in (start, end)))

    def _edit(self, opened: _Opened, checked: Checked, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        changes: dict[int, list[types.TextEdit]] = {}
        for each in edits:
            number, place = self._place(checked.source, each.start, each.end)
            changes.setdefault(number, []).append(types.TextEdit(place, each.content))
        documents = opened.documents
        capabilities = self.client_capabilities.workspace
        if capabilities and capabilities.workspace_edit and capabilities.workspace_edit.document_changes:
            # With the version, so that an edit of a text that has changed meanwhile is refused.
            versioned = [
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(documents[number].uri, documents[number].version),
                    list(of_document),
                )
                for number, of_document in changes.items()
            ]
            return types.WorkspaceEdit(document_changes=versioned)
        return types.WorkspaceEdit(changes={documents[number].uri: each for number, each in changes.items()})

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        opened, checked = self.opened(uri), await self.checked(uri)
        if opened is None or checked is None or opened.text != checked.text:
            return []
        actions = []
        rows = _rows_of(uri, opened, checked)
        here = [finding for finding in checked.findings if finding.start.row in rows]
        if _is_wanted(types.CodeActionKind.QuickFix, params.context):
            first, last = rows.start + params.range.start.line, rows.start + params.range.end.line
            for finding in here:
                # Wherever the cursor is in the line: not every editor brings it to the finding.
                if first <= finding.end.row and finding.start.row <= last:
                    actions += await self._quick_fixes(opened, checked, finding)
            title = "tonumpy: Fix all, unsafe too"
            actions += await self._fix_all(opened, checked, checked.findings, title, types.CodeActionKind.QuickFix)
        if _is_wanted(FIX_ALL, params.context):
            title = f"tonumpy: Fix all that is safe{' in this cell' if opened.is_notebook else ''}"
            actions += await self._fix_all(opened, checked, here, title, FIX_ALL)
        if opened.is_notebook and _is_wanted(FIX_NOTEBOOK, params.context):
            title = "tonumpy: Fix all that is safe in this notebook"
            actions += await self._fix_all(opened, checked, checked.findings, title, FIX_NOTEBOOK)
        return actions

    async def _quick_fixes(self, opened: _Opened, checked: Checked, finding: Finding) -> list[types.CodeAction]:
        fix = finding.fix
        edits = await self.repaired(checked, [finding]) if fix and fix.applicability in _REPAIRS else ()
        if not edits or fix is None:
            return []
        return [
            types.CodeAction(
                f"{fix.message} ({finding.code}{_REPAIRS[fix.applicability]})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(finding, checked, opened)[1]],
                is_preferred=fix.applicability == "safe",
                edit=self._edit(opened, checked, edits),
            )
        ]

    async def _fix_all(
        self, opened: _Opened, checked: Checked, findings: Iterable[Finding], title: str, kind: str
    ) -> list[types.CodeAction]:
        """The action over all that may be repaired: as it is asked for by name, or before a file is saved."""
        is_safe = kind in (FIX_ALL, FIX_NOTEBOOK)
        allowed = ("safe",) if is_safe else ("safe", "unsafe")
        found = [each for each in findings if each.fix and each.fix.applicability in allowed]
        if not is_safe and all(each.fix and each.fix.applicability == "safe" for each in found):
            return []  # the other action does the same
        edits = await self.repaired(checked, found)
        return [types.CodeAction(title, kind=kind, edit=self._edit(opened, checked, edits))] if edits else []

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """At a finding, or at a conversion that is none: what is known of it, and what that rests on."""
        uri = params.text_document.uri
        opened, checked = self.opened(uri), await self.checked(uri)
        if opened is None or checked is None or opened.text != checked.text:
            return None
        rows = _rows_of(uri, opened, checked)
        row = rows.start + params.position.line
        if row not in rows:
            return None
        loop = asyncio.get_running_loop()
        for explained in await loop.run_in_executor(self._thread, self.workbench.explain, checked, row):
            end = explained.start._replace(column=explained.start.column + len(_NAME))
            places = [(each.start, each.end) for each in explained.findings] or [(explained.start, end)]
            _, place = self._place(checked.source, *places[0])
            if _overlap(place, types.Range(params.position, params.position)):
                shown = _page(explained, [each for each in checked.findings if each in explained.findings])
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), place)
        return None


def _page(explained: Explanation, findings: Sequence[Finding]) -> str:
    """What is said of a conversion where somebody rests on it; the rule's own reasons where it is reported."""
    parts = []
    for finding in findings:
        rule = next(rule for rule in all_rules() if rule.code == finding.code)
        parts.append(f"**{finding.code} {rule.name}** ({finding.confidence} confidence)\n\n{finding.message}")
        if finding.fix:
            parts.append(f"{finding.fix.applicability}: {finding.fix.message}")
    if not findings:
        parts.append("Not reported by tonumpy.")
    for answer in explained.answers:
        lines = [f"**{answer.about}:** {answer.text}"]
        for ground in answer.grounds:
            place = f" ({os.path.basename(ground.place)})" if ground.row else ""
            name = f" `{ground.id}`" if ground.id else ""
            lines.append(f"- {ground.kind}{name}: {ground.message}{place}")
        if answer.remedy and findings:
            lines.append(f"- to fix: {answer.remedy}")
        parts.append("\n".join(lines))
    for finding in findings:
        rule = next(rule for rule in all_rules() if rule.code == finding.code)
        why = rule.page.partition("## Why is this bad\n")[2].partition("\n## ")[0].strip()
        parts.append(f"---\n{why}\n\n[The page of {finding.code}]({finding.url})")
    return "\n\n".join(parts)


def _rows_of(uri: str, opened: _Opened, checked: Checked) -> range:
    """The rows, in the text that was checked, of the document with this address: none of a cell of words."""
    if not opened.is_notebook:
        return range(1, len(checked.source.line_starts) + 1)
    for number, document in enumerate(opened.documents, 1):
        if unquote(document.uri) == unquote(uri):
            first = checked.source.row_of(number, 1)
            return range(first, first + len(Source.from_text(document.source, uri).line_starts))
    return range(0)


def _position(source: Source, position: Position, first: int, codec: PositionCodec) -> types.Position:
    """Of a place in the text, that in the document whose first row there is `first`."""
    row = min(position.row, len(source.line_starts))
    line = source.line(row).rstrip("\r\n")
    return types.Position(row - first, codec.client_num_units(line[: position.column - 1]))


def _overlap(one: types.Range, other: types.Range) -> bool:
    """Ranges that touch do: a cursor just behind a call is at it."""
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _is_wanted(kind: str, context: types.CodeActionContext) -> bool:
    """Whether a kind of action, or one that it belongs to, is asked for."""
    if context.only is None:
        return kind != FIX_ALL or context.trigger_kind != types.CodeActionTriggerKind.Automatic  # not at every move
    return any(kind == only or kind.startswith(f"{only}.") for only in context.only)


def _own(settings: object) -> object:
    """Our part of an editor's settings, which may be all of them or lie under one of two names."""
    found = settings
    for name in ("settings", "tonumpy"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return found


def _in_dashes(settings: object) -> object:
    """`unsafeFixes`, as settings are called in most editors, is `unsafe-fixes`."""
    if not isinstance(settings, dict):
        return settings
    return {re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", key): value for key, value in settings.items()}


def _path_of(uri: str) -> str:
    """The path of a document, or its address where it is in no file (`untitled:Untitled-1`)."""
    return to_fs_path(uri) or uri


def serve() -> bool:
    """Answer one editor on standard input and output until it is gone. Whether it has said goodbye before."""
    server = Server()
    _add_features(server)
    server.start_io()
    return server.is_told_to_stop


def _add_features(server: Server) -> None:
    """The messages that are understood."""

    @server.feature(types.INITIALIZE)
    def _initialize(params: types.InitializeParams) -> None:
        server.options = params.initialization_options

    @server.feature(types.INITIALIZED)
    async def _initialized(_: types.InitializedParams) -> None:
        await server.configure(_own(server.options))
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher("**/*.{py,ipynb}"), types.FileSystemWatcher("**/pyproject.toml")]
            registered = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, registered)
            with contextlib.suppress(Exception):  # an editor that breaks its own promise still has all else
                await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.SHUTDOWN)
    def _told_to_stop(*_: object) -> None:
        server.is_told_to_stop = True

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def _opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def _changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri, _PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def _saved(_: types.DidSaveTextDocumentParams) -> None:
        await server.forget()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def _closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)
        server.gone(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    async def _notebook_opened(params: types.DidOpenNotebookDocumentParams) -> None:
        server.changed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    async def _notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells
        for each in (cells and cells.structure and cells.structure.did_close) or ():
            server.gone(each.uri)
        server.changed(params.notebook_document.uri, _PAUSE)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    async def _notebook_saved(_: types.DidSaveNotebookDocumentParams) -> None:
        await server.forget()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def _notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        server.closed(params.notebook_document.uri)
        for each in params.cell_text_documents:
            server.gone(each.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def _files_changed(_: types.DidChangeWatchedFilesParams) -> None:
        await server.forget()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def _configured(params: types.DidChangeConfigurationParams) -> None:
        if _own(params.settings):  # an editor that has nothing to say, or waits to be asked, may send this all the same
            await server.configure(_own(params.settings))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(_SELECTED))
    async def _actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def _hover(params: types.HoverParams) -> types.Hover | None:
        return await server.hover(params)
