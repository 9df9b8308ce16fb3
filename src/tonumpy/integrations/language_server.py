"""A server for the Language Server Protocol over stdio: diagnostics, quick fixes and hovers for an editor.

One thread does all the analysis, so the loop that reads messages always answers.
"""

from __future__ import annotations

import asyncio
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tonumpy import __version__, pipeline
from tonumpy.cli.files import is_left_out
from tonumpy.config import Choices, ConfigError, Configuration, read_table
from tonumpy.engine.names.project import Project
from tonumpy.findings import Position, SourceError
from tonumpy.text.notebooks import Notebook
from tonumpy.text.source import Source
from tonumpy.why import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from pygls.workspace import TextDocument

    from tonumpy.findings import Explanation, Finding, Sureness
    from tonumpy.judgements import Judgement

    _T = TypeVar("_T")

FIX_ALL = "source.fixAll.tonumpy"
FIX_NOTEBOOK = "notebook.source.fixAll.tonumpy"

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


class _Opened(NamedTuple):
    """A document, or a notebook with the documents of its Python cells, and their texts at one moment."""

    path: str
    documents: tuple[TextDocument, ...]
    texts: tuple[str, ...]
    is_notebook: bool


class _Checked(NamedTuple):
    """A document or notebook, and what was found in it."""

    opened: _Opened
    source: Source
    judgements: dict[Finding, Judgement]
    errors: tuple[SourceError, ...]

    def document_of(self, row: int) -> TextDocument:
        """The document that a row of the source stands in."""
        return self.opened.documents[self.source.cell_at(row)[0] - 1]

    def row_of(self, uri: str, line: int) -> int:
        """The row of the source for a line of a document; 0 where there is none."""
        for number, document in enumerate(self.opened.documents):
            if unquote(document.uri) == unquote(uri) and line <= self.opened.texts[number].count("\n"):
                return line + (self.source.row_of(number + 1, 1) if self.opened.is_notebook else 1)
        return 0


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
        self.options: object = None
        self.is_told_to_stop = False
        self._said: Choices = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tonumpy")
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._checked: dict[str, _Checked] = {}
        self._project = Project()
        self._complaints: set[str] = set()

    def configure(self, settings: object) -> None:
        """Take the editor's settings, in the shape of `[tool.tonumpy]`; if they are wrong, the earlier ones stay."""
        for name in ("settings", "tonumpy"):  # which may be all of an editor's, or lie under one of two names
            if isinstance(settings, dict) and name in settings:
                settings = settings[name]
        if not settings:  # an editor that has nothing to say, or waits to be asked, may send this all the same
            return
        if isinstance(settings, dict):  # `unsafeFixes`, as settings are called in most editors
            settings = {re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", key): settings[key] for key in settings}
        root = self.workspace.root_path or os.getcwd()
        try:
            # The path that is given is that of a file in the folder to which the settings are relative.
            self._said = read_table(settings, os.path.join(root, "the editor's settings"))
        except ConfigError as error:
            self._complain(str(error))
        else:
            self.forget()

    def forget(self) -> None:
        """Drop what was read of files and settings, and check all that is open again."""
        self._complaints.clear()
        self._thread.submit(self._forget)
        for uri in {*self.workspace.text_documents, *self.workspace.notebook_documents}:
            self.changed(uri)

    def _forget(self) -> None:
        self._checked, self._project = {}, Project()

    def _complain(self, text: str) -> None:
        """Show a message once, not at every key."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tonumpy: {text}"))

    def _opened(self, uri: str) -> _Opened | None:
        """The open document, or the open notebook with this address or with a cell of this address."""
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        notebook = notebook or self.workspace.get_notebook_document(cell_uri=uri)
        addresses = [uri]
        if notebook is not None:
            uri = notebook.uri
            addresses = [cell.document for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code]
        found = [self.workspace.text_documents.get(unquote(each)) for each in addresses]
        documents = tuple(each for each in found if each is not None)
        texts = tuple(each.source for each in documents)
        return _Opened(to_fs_path(uri) or uri, documents, texts, notebook is not None) if documents else None

    def changed(self, uri: str) -> None:
        """Check a document or notebook, unless it changes again before its turn comes."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri))

    def closed(self, uri: str, *documents: str) -> None:
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        for each in documents:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each, []))

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _current(self, uri: str) -> _Checked | None:
        """A document as it was checked; None if it is not open, has changed meanwhile, or its settings are wrong."""
        opened = self._opened(uri)
        if opened is None:
            return None
        try:
            checked = await self._in_thread(self._check, opened)
        except ConfigError as error:
            self._complain(str(error))
            return None
        now = self._opened(uri)
        return checked._replace(opened=now) if now is not None and now.texts == opened.texts else None

    def _check(self, opened: _Opened) -> _Checked:
        before = self._checked.get(opened.path)
        if before is not None and before.opened.texts == opened.texts:
            return before
        settings = Configuration(self._said).settings_of(opened.path)
        source = Source.from_text(opened.texts[0], opened.path)
        if opened.is_notebook:
            source = Notebook.from_cells(opened.texts, opened.path)
        found: dict[Finding, Judgement] = {}
        errors: tuple[SourceError, ...] = ()
        try:
            if not is_left_out(opened.path, settings):
                found = {each.finding: each for each in pipeline.judge(source, settings, self._project)}
        except SourceError as error:
            errors = (error,)
        except RecursionError:
            errors = (SourceError(opened.path, "cannot be checked: nested too deeply"),)
        self._checked[opened.path] = _Checked(opened, source, found, (*errors, *source.skipped))
        return self._checked[opened.path]

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        checked = await self._current(uri)
        if checked is None:
            return
        documents = checked.opened.documents
        told: dict[str, list[types.Diagnostic]] = {document.uri: [] for document in documents}
        for finding in checked.judgements:
            told[checked.document_of(finding.start.row).uri].append(self._diagnostic(finding, checked.source))
        for error in checked.errors:
            document, place = documents[(error.cell or 1) - 1], error.position or Position(1, 1)
            span = self._span(Source.from_text(document.source, checked.opened.path), place, place)
            severity = types.DiagnosticSeverity.Error
            told[document.uri].append(types.Diagnostic(span, error.reason, severity=severity, source="tonumpy"))
        for document in documents:
            params = types.PublishDiagnosticsParams(document.uri, told[document.uri], version=document.version)
            self.text_document_publish_diagnostics(params)

    def _diagnostic(self, finding: Finding, source: Source) -> types.Diagnostic:
        return types.Diagnostic(
            self._span(source, finding.start, finding.end),
            finding.message,
            severity=_SEVERITIES[finding.confidence],
            code=finding.code,
            code_description=types.CodeDescription(finding.url),
            source="tonumpy",
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

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The repair of each finding in the lines, and that of all safe ones of the document or notebook."""
        uri, only = params.text_document.uri, params.context.only
        checked = await self._current(uri)
        if checked is None:
            return []

        def wants(kind: str) -> bool:
            return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)

        actions: list[types.CodeAction] = []
        first, last = (checked.row_of(uri, each.line) for each in (params.range.start, params.range.end))
        for each in checked.judgements if wants(types.CodeActionKind.QuickFix) else ():
            # Wherever the cursor is in the line: not every editor brings it to the finding.
            if each.fix is not None and first <= each.end.row and each.start.row <= last:
                title = f"{each.fix.message} ({each.code}{_SUFFIXES.get(each.fix.applicability, '')})"
                for action in await self._fixes(checked, [each], title, types.CodeActionKind.QuickFix):
                    action.diagnostics = [self._diagnostic(each, checked.source)]
                    action.is_preferred = each.fix.applicability == "safe"
                    actions.append(action)
        kind = FIX_NOTEBOOK if checked.opened.is_notebook else FIX_ALL
        if wants(kind) and first:
            safe = [each for each in checked.judgements if each.fix and each.fix.applicability == "safe"]
            actions += await self._fixes(checked, safe, "tonumpy: Fix all that is safe", kind)
        return actions

    async def _fixes(
        self, checked: _Checked, findings: Sequence[Finding], title: str, kind: str
    ) -> list[types.CodeAction]:
        """The action that repairs these findings together, or nothing if none of them can be repaired."""
        due = [checked.judgements[each] for each in findings if each.fix and each.fix.applicability in _SUFFIXES]
        try:
            edits = await self._in_thread(pipeline.repair, checked.source, due) if due else ()
        except SourceError:  # they could not be verified
            return []
        changes: dict[str, list[types.TextEdit]] = {}
        for each in edits:
            edit = types.TextEdit(self._span(checked.source, each.start, each.end), each.content)
            changes.setdefault(checked.document_of(each.start.row).uri, []).append(edit)
        return [types.CodeAction(title, kind=kind, edit=types.WorkspaceEdit(changes=changes))] if changes else []

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Explain the conversion at the cursor, reported or not."""
        checked = await self._current(params.text_document.uri)
        row = 0 if checked is None else checked.row_of(params.text_document.uri, params.position.line)
        if checked is None or not row:
            return None
        at = (params.position.line, params.position.character)
        for each in await self._in_thread(self._explain, checked, row):
            end = each.start._replace(column=each.start.column + len("numpy"))
            start, end = next(((told.start, told.end) for told in each.findings), (each.start, end))
            span = self._span(checked.source, start, end)
            if (span.start.line, span.start.character) <= at <= (span.end.line, span.end.character):
                shown = _page(each, [told for told in each.findings if told in checked.judgements])
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), span)
        return None

    def _explain(self, checked: _Checked, row: int) -> list[Explanation]:
        source, settings = checked.source, Configuration(self._said).settings_of(checked.opened.path)
        try:
            found = explain(source, settings, self._project, row)
        except (SourceError, RecursionError):
            return []
        for number, each in enumerate(found):  # the rows of cells in place of those of the module that they make
            answers = (answer._replace(grounds=source.placed_grounds(answer.grounds)) for answer in each.answers)
            found[number] = each._replace(answers=tuple(answers))
        return found


def _page(explained: Explanation, findings: Sequence[Finding]) -> str:
    """The answers of `tonumpy why` as Markdown, with the findings that are told."""
    parts = [] if findings else ["Not reported by tonumpy."]
    for each in findings:
        repair = f"\n\n{each.fix.applicability}: {each.fix.message}" if each.fix else ""
        parts.append(f"**[{each.code}]({each.url})** ({each.confidence} confidence): {each.message}{repair}")
    for answer in explained.answers:
        grounds = (f"\n- {ground.words_with_place}" for ground in answer.grounds)
        parts.append("".join((f"**{answer.about}:** {answer.text}", *grounds)))
    return "\n\n".join(parts)


_SERVER = Server()
_feature = _SERVER.feature


def serve() -> bool:
    """Answer one editor on standard input and output until it is gone. True if it has said goodbye before."""
    _SERVER.start_io()
    return _SERVER.is_told_to_stop


# pygls gives the server for a parameter that is called `ls`.
@_feature(types.INITIALIZE)
def _initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.options = params.initialization_options


@_feature(types.INITIALIZED)
async def _initialized(ls: Server, _: types.InitializedParams) -> None:
    ls.configure(ls.options)


@_feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
async def _configured(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    ls.configure(params.settings)


@_feature(types.SHUTDOWN)
def _told_to_stop(ls: Server, *_: object) -> None:
    ls.is_told_to_stop = True


@_feature(types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
async def _actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    return await ls.actions(params)


@_feature(types.TEXT_DOCUMENT_HOVER)
async def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    return await ls.hover(params)


@_feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
@_feature(types.TEXT_DOCUMENT_DID_SAVE)
@_feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
async def _files_changed(ls: Server, _: object) -> None:
    ls.forget()


@_feature(types.TEXT_DOCUMENT_DID_OPEN)
@_feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def _changed(ls: Server, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
    ls.changed(params.text_document.uri)


@_feature(types.TEXT_DOCUMENT_DID_CLOSE)
async def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri, params.text_document.uri)


@_feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
async def _notebook_opened(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    ls.changed(params.notebook_document.uri)


@_feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
async def _notebook_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    cells = params.change.cells
    for each in (cells and cells.structure and cells.structure.did_close) or ():
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each.uri, []))
    ls.changed(params.notebook_document.uri)


@_feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
async def _notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    ls.closed(params.notebook_document.uri, *(each.uri for each in params.cell_text_documents))
