"""A server for the Language Server Protocol over stdio: diagnostics, quick fixes and hovers for an editor.

One thread does all the analysis, so the loop that reads messages always answers; of several versions of a document
that wait for it, only the last is checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tonumpy import __version__
from tonumpy.config import Choices, ConfigError, read_table
from tonumpy.findings import Edit, Position
from tonumpy.integrations.open_documents import OpenDocuments
from tonumpy.rules import all_rules
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from pygls.workspace import TextDocument

    from tonumpy.findings import Explanation, Finding, Sureness
    from tonumpy.integrations.open_documents import Checked

    _T = TypeVar("_T")
    _OfDocument = types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams

FIX_ALL = "source.fixAll.tonumpy"
FIX_NOTEBOOK = "notebook.source.fixAll.tonumpy"  # all cells; the other action is of one cell there

_PAUSE = 0.02  # seconds that a document must have been left alone: a burst of keys is checked once
_SUFFIXES = {"safe": "", "unsafe": ", unsafe"}
_SEVERITIES: dict[Sureness, types.DiagnosticSeverity] = {
    "observed": types.DiagnosticSeverity.Error,
    "high": types.DiagnosticSeverity.Error,
    "medium": types.DiagnosticSeverity.Warning,
    "low": types.DiagnosticSeverity.Information,
}
_ACTIONS = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK])
_CELLS = types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])
_WATCHED = [types.FileSystemWatcher("**/*.{py,ipynb}"), types.FileSystemWatcher("**/pyproject.toml")]


class _Opened(NamedTuple):
    """One unit of analysis: a document by itself, or a notebook with the documents of its Python cells."""

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

    def rows_of(self, uri: str, checked: Checked) -> range:
        """The rows of the checked text that belong to the document `uri`; empty for a cell that holds no Python."""
        if not self.is_notebook:
            return range(1, len(checked.source.line_starts) + 1)
        for number, document in enumerate(self.documents, 1):
            if unquote(document.uri) == unquote(uri):
                first = checked.source.row_of(number, 1)
                return range(first, first + len(Source.from_text(document.source, uri).line_starts))
        return range(0)


class Server(LanguageServer):
    """The open documents, their settings, and the thread that checks them."""

    def __init__(self) -> None:
        super().__init__(
            "tonumpy",
            __version__,
            # Whole documents: pygls counts other characters than the protocol does as the end of a line.
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=types.NotebookDocumentSyncOptions([_CELLS], save=True),
        )
        self.open_documents = OpenDocuments()
        self.options: object = None
        self.is_told_to_stop = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tonumpy")
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._complaints: set[str] = set()

    async def in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def opened(self, uri: str) -> _Opened | None:
        """The open document, or the open notebook with this address or with a cell of this address."""
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        notebook = notebook or self.workspace.get_notebook_document(cell_uri=uri)
        documents = self.workspace.text_documents
        if notebook is None:
            document = documents.get(unquote(uri))
            return None if document is None else _Opened(uri, (document,), is_notebook=False)
        addresses = (unquote(cell.document) for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code)
        cells = tuple(documents[each] for each in addresses if each in documents)
        return _Opened(notebook.uri, cells, is_notebook=True)

    def all_opened(self) -> list[_Opened]:
        opened = [self.opened(uri) for uri in (*self.workspace.text_documents, *self.workspace.notebook_documents)]
        return list({each.uri: each for each in opened if each is not None}.values())

    def changed(self, uri: str) -> None:
        """Check a document or notebook, unless it changes again before its turn comes."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri))

    def closed(self, uri: str, *documents: str) -> None:
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._thread.submit(self.open_documents.close, _path_of(uri))
        for each in documents:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each, []))

    async def current(self, uri: str) -> tuple[_Opened, Checked] | None:
        """A document with its findings; None if it is not open, has changed meanwhile, or its settings are wrong."""
        opened = self.opened(uri)
        if opened is None:
            return None
        try:
            checked = await self.in_thread(self.open_documents.check, opened.path, opened.text)
        except ConfigError as error:
            self.complain(str(error))
            return None
        now = self.opened(uri)
        return (now, checked) if now is not None and now.text == checked.text else None

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        found = await self.current(uri)
        if found is None:
            return
        opened, checked = found
        told: list[list[types.Diagnostic]] = [[] for _ in opened.documents]
        for finding in checked.findings:
            told[checked.source.cell_at(finding.start.row)[0] - 1].append(self._diagnostic(finding, opened, checked))
        for error in checked.errors if opened.documents else ():
            number, place = (error.cell or 1) - 1, error.position or Position(1, 1)
            text = Source.from_text(opened.documents[number].source, opened.path)
            severity = types.DiagnosticSeverity.Error
            span = self._span(text, place, place)
            told[number].append(types.Diagnostic(span, error.reason, severity=severity, source="tonumpy"))
        for document, diagnostics in zip(opened.documents, told, strict=True):
            params = types.PublishDiagnosticsParams(document.uri, diagnostics, version=document.version)
            self.text_document_publish_diagnostics(params)

    async def configure(self, settings: object) -> None:
        """Take the editor's settings, in the shape of `[tool.tonumpy]`; if they are wrong, the earlier ones stay."""
        root = self.workspace.root_path or os.getcwd()
        try:
            # The path that is given is that of a file in the folder to which the settings are relative.
            said = read_table(_in_dashes(settings or {}), os.path.join(root, "the editor's settings"))
        except ConfigError as error:
            self.complain(str(error))
        else:
            await self.forget(said)

    async def forget(self, said: Choices | None = None) -> None:
        """Drop what was read of files and settings, and check all that is open again."""
        self._complaints.clear()
        opened = self.all_opened()
        texts = {each.path: each.text for each in opened if isinstance(each.text, str)}
        await self.in_thread(self.open_documents.forget, texts, said)
        for each in opened:
            self.changed(each.uri)

    def complain(self, text: str) -> None:
        """Show a message once, not at every key."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tonumpy: {text}"))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, context = params.text_document.uri, params.context
        found = await self.current(uri)
        if found is None:
            return []
        opened, checked = found
        rows = opened.rows_of(uri, checked)
        here = [finding for finding in checked.findings if finding.start.row in rows]
        actions = []
        if _is_wanted(types.CodeActionKind.QuickFix, context):
            first, last = rows.start + params.range.start.line, rows.start + params.range.end.line
            # Wherever the cursor is in the line: not every editor brings it to the finding.
            at_cursor = [each for each in here if first <= each.end.row and each.start.row <= last]
            for each in at_cursor:
                actions += await self._fixes(found, [each], _title_of(each), types.CodeActionKind.QuickFix)
            if any(each.fix and each.fix.applicability == "unsafe" for each in checked.findings):
                title = "tonumpy: Fix all, unsafe too"
                actions += await self._fixes(found, checked.findings, title, types.CodeActionKind.QuickFix)
        if _is_wanted(FIX_ALL, context):
            title = f"tonumpy: Fix all that is safe{' in this cell' if opened.is_notebook else ''}"
            actions += await self._fixes(found, _safe(here), title, FIX_ALL)
        if opened.is_notebook and _is_wanted(FIX_NOTEBOOK, context):
            title = "tonumpy: Fix all that is safe in this notebook"
            actions += await self._fixes(found, _safe(checked.findings), title, FIX_NOTEBOOK)
        return actions

    async def _fixes(
        self, found: tuple[_Opened, Checked], findings: Sequence[Finding], title: str, kind: str
    ) -> list[types.CodeAction]:
        """The action that repairs these findings together, or nothing if none of them can be repaired."""
        opened, checked = found
        repairable = [each for each in findings if each.fix and each.fix.applicability in _SUFFIXES]
        edits = await self.in_thread(self.open_documents.repair, checked, repairable) if repairable else ()
        if not edits:
            return []
        action = types.CodeAction(title, kind=kind, edit=self._edit(opened, checked, edits))
        if len(findings) == 1 and title == _title_of(findings[0]):
            action.diagnostics = [self._diagnostic(findings[0], opened, checked)]
            action.is_preferred = _safe(findings) != []
        return [action]

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Explain the conversion at the cursor, reported or not."""
        uri = params.text_document.uri
        found = await self.current(uri)
        if found is None:
            return None
        opened, checked = found
        rows = opened.rows_of(uri, checked)
        row = rows.start + params.position.line
        for explained in await self.in_thread(self.open_documents.explain, checked, row) if row in rows else ():
            end = explained.start._replace(column=explained.start.column + len("numpy"))
            places = [(each.start, each.end) for each in explained.findings] or [(explained.start, end)]
            span = self._span(checked.source, *places[0])
            if _pair(span.start) <= _pair(params.position) <= _pair(span.end):  # just behind the call is at it
                shown = _page(explained, [each for each in checked.findings if each in explained.findings])
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), span)
        return None

    def _diagnostic(self, finding: Finding, opened: _Opened, checked: Checked) -> types.Diagnostic:
        document = self.client_capabilities.text_document
        asked = document.publish_diagnostics if document else None
        related = []
        for each in finding.evidence if asked and asked.related_information else ():
            if each.row and each.filename == finding.filename:
                uri = opened.documents[checked.source.cell_at(each.row)[0] - 1].uri
                span = self._span(checked.source, Position(each.row, 1), Position(each.row, 1))
                related.append(types.DiagnosticRelatedInformation(types.Location(uri, span), each.words))
        return types.Diagnostic(
            self._span(checked.source, finding.start, finding.end),
            finding.message,
            severity=_SEVERITIES[finding.confidence],
            code=finding.code,
            code_description=types.CodeDescription(finding.url),
            source="tonumpy",
            related_information=related or None,
        )

    def _span(self, source: Source, start: Position, end: Position) -> types.Range:
        """The place in its own document, counted as the editor counts."""
        first = source.cell_at(start.row)[1]
        units = self.workspace.position_codec.client_num_units
        places = []
        for each in (start, end):
            row = min(each.row, len(source.line_starts))
            before = source.line(row).rstrip("\r\n")[: each.column - 1]
            places.append(types.Position(row - first, units(before)))
        return types.Range(*places)

    def _edit(self, opened: _Opened, checked: Checked, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        changes: dict[int, list[types.TextEdit]] = {}
        for each in edits:
            number = checked.source.cell_at(each.start.row)[0] - 1
            span = self._span(checked.source, each.start, each.end)
            changes.setdefault(number, []).append(types.TextEdit(span, each.content))
        workspace = self.client_capabilities.workspace
        if not (workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes):
            return types.WorkspaceEdit(changes={opened.documents[number].uri: each for number, each in changes.items()})
        versioned = []  # so that an edit of a text that has changed meanwhile is refused
        for number, of_document in changes.items():
            document = opened.documents[number]
            identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            versioned.append(types.TextDocumentEdit(identifier, list(of_document)))
        return types.WorkspaceEdit(document_changes=versioned)


def _title_of(finding: Finding) -> str:
    fix = finding.fix
    return f"{fix.message} ({finding.code}{_SUFFIXES.get(fix.applicability, '')})" if fix else ""


def _safe(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.fix and each.fix.applicability == "safe"]


def _page(explained: Explanation, findings: Sequence[Finding]) -> str:
    """The answers of `tonumpy why` as Markdown, with the rule's own reasons if there is a finding."""
    parts = []
    for finding in findings:
        name = next(rule.name for rule in all_rules() if rule.code == finding.code)
        parts.append(f"**{finding.code} {name}** ({finding.confidence} confidence)\n\n{finding.message}")
        if finding.fix:
            parts.append(f"{finding.fix.applicability}: {finding.fix.message}")
    if not findings:
        codes = ", ".join(dict.fromkeys(each.code for each in explained.findings))
        parts.append(f"{codes} at low confidence, which is not reported." if codes else "Not reported by tonumpy.")
    for answer in explained.answers:
        lines = [f"**{answer.about}:** {answer.text}"]
        for ground in answer.grounds:
            place = f" ({os.path.basename(ground.place)})" if ground.row else ""
            name = f" `{ground.id}`" if ground.id else ""
            lines.append(f"- {ground.kind}{name}: {ground.message}{place}")
        if answer.remedy and findings:
            lines.append(f"- to fix: {answer.remedy}")
        parts.append("\n".join(lines))
    parts += [f"[The page of {finding.code}]({finding.url})" for finding in findings]
    return "\n\n".join(parts)


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _is_wanted(kind: str, context: types.CodeActionContext) -> bool:
    """True if a kind of action, or one that it belongs to, is asked for."""
    if context.only is None:
        return kind != FIX_ALL or context.trigger_kind != types.CodeActionTriggerKind.Automatic  # not at every move
    return any(kind == only or kind.startswith(f"{only}.") for only in context.only)


def _own(settings: object) -> object:
    """Our part of an editor's settings, which may be all of them or lie under one of two names."""
    for name in ("settings", "tonumpy"):
        if isinstance(settings, dict) and name in settings:
            settings = settings[name]
    return settings


def _in_dashes(settings: object) -> object:
    """`unsafeFixes`, as settings are called in most editors, becomes `unsafe-fixes`."""
    if not isinstance(settings, dict):
        return settings
    return {re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", key): value for key, value in settings.items()}


def _path_of(uri: str) -> str:
    """The path of a document, or its address if it is in no file (`untitled:Untitled-1`)."""
    return to_fs_path(uri) or uri


def serve() -> bool:
    """Answer one editor on standard input and output until it is gone. True if it has said goodbye before."""
    server = Server()
    for feature, answer in _ANSWERS.items():
        server.feature(feature)(answer)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)(partial(server.actions))  # pygls marks what it is given
    server.feature(types.TEXT_DOCUMENT_HOVER)(partial(server.hover))
    server.start_io()
    return server.is_told_to_stop


# pygls gives the server for a parameter that is called `ls`.


def _initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.options = params.initialization_options


async def _initialized(ls: Server, _: types.InitializedParams) -> None:
    await ls.configure(_own(ls.options))
    workspace = ls.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched and watched.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions(_WATCHED)
        registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        with contextlib.suppress(Exception):  # an editor that breaks its own promise still has all else
            await ls.client_register_capability_async(types.RegistrationParams([registration]))


def _told_to_stop(ls: Server, *_: object) -> None:
    ls.is_told_to_stop = True


async def _configured(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    if _own(params.settings):  # an editor that has nothing to say, or waits to be asked, may send this all the same
        await ls.configure(_own(params.settings))


async def _files_changed(ls: Server, _: object) -> None:
    await ls.forget()


async def _document_changed(ls: Server, params: _OfDocument) -> None:
    ls.changed(params.text_document.uri)


async def _document_closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri, params.text_document.uri)


async def _notebook_opened(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.changed(params.notebook_document.uri)


async def _notebook_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    cells = params.change.cells
    for each in (cells and cells.structure and cells.structure.did_close) or ():
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each.uri, []))
    ls.changed(params.notebook_document.uri)


async def _notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.closed(params.notebook_document.uri, *(each.uri for each in params.cell_text_documents))


_ANSWERS: dict[str, Callable[..., object]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.SHUTDOWN: _told_to_stop,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configured,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _files_changed,
    types.TEXT_DOCUMENT_DID_SAVE: _files_changed,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: _files_changed,
    types.TEXT_DOCUMENT_DID_OPEN: _document_changed,
    types.TEXT_DOCUMENT_DID_CHANGE: _document_changed,
    types.TEXT_DOCUMENT_DID_CLOSE: _document_closed,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: _notebook_opened,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: _notebook_changed,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: _notebook_closed,
}
