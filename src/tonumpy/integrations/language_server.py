"""A server for the Language Server Protocol over stdio: diagnostics, quick fixes and hovers for an editor.

One thread does all the analysis, so the loop that reads messages always answers; of several versions of a document
that wait for it, only the last is checked.
"""

from __future__ import annotations

import asyncio
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tonumpy import __version__, pipeline
from tonumpy.config import Choices, ConfigError, Configuration, read_table
from tonumpy.engine.names.project import Project
from tonumpy.findings import Position, SourceError
from tonumpy.frontends.files import is_left_out
from tonumpy.text.notebooks import Notebook
from tonumpy.text.source import Source
from tonumpy.why import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from pygls.workspace import TextDocument

    from tonumpy.findings import Answer, Explanation, Finding, Sureness
    from tonumpy.judgements import Judgement

    _T = TypeVar("_T")

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


class _Opened(NamedTuple):
    """A document by itself, or a notebook with the documents of its Python cells, as the editor has it."""

    path: str
    documents: tuple[TextDocument, ...]
    is_notebook: bool

    @property
    def texts(self) -> list[str]:
        return [each.source for each in self.documents]


class _Checked(NamedTuple):
    """The texts of a document or notebook, and what was found in them."""

    opened: _Opened
    texts: list[str]
    source: Source
    judgements: dict[Finding, Judgement]
    errors: tuple[SourceError, ...]

    def number_of(self, row: int) -> int:
        """The document that a row of the source stands in."""
        return self.source.cell_at(row)[0] - 1

    def rows_of(self, uri: str) -> range:
        """The rows of the source that belong to a document; empty for a cell that holds no Python."""
        for number, document in enumerate(self.opened.documents):
            if unquote(document.uri) == unquote(uri):
                first = self.source.row_of(number + 1, 1) if self.opened.is_notebook else 1
                return range(first, first + self.texts[number].count("\n") + 1)
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
        self.options: object = None
        self.is_told_to_stop = False
        self._said: Choices = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tonumpy")
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._checked: dict[str, _Checked] = {}
        self._texts: dict[str, str] = {}
        self._project = Project(self._texts)
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
        documents = self.workspace.text_documents.items()
        self._thread.submit(self._forget, {to_fs_path(uri) or uri: each.source for uri, each in documents})
        for uri in {*self.workspace.text_documents, *self.workspace.notebook_documents}:
            self.changed(uri)

    def _forget(self, texts: dict[str, str]) -> None:
        self._checked, self._texts, self._project = {}, texts, Project(texts)

    def _complain(self, text: str) -> None:
        """Show a message once, not at every key."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tonumpy: {text}"))

    def _opened(self, uri: str) -> _Opened | None:
        """The open document, or the open notebook with this address or with a cell of this address."""
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        notebook = notebook or self.workspace.get_notebook_document(cell_uri=uri)
        documents = self.workspace.text_documents
        if notebook is None:
            document = documents.get(unquote(uri))
            return None if document is None else _Opened(to_fs_path(uri) or uri, (document,), is_notebook=False)
        addresses = (unquote(cell.document) for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code)
        cells = tuple(documents[each] for each in addresses if each in documents)
        return _Opened(to_fs_path(notebook.uri) or notebook.uri, cells, is_notebook=True)

    def changed(self, uri: str) -> None:
        """Check a document or notebook, unless it changes again before its turn comes."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri))

    def closed(self, uri: str, *documents: str) -> None:
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._thread.submit(self._close, to_fs_path(uri) or uri)
        for each in documents:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each, []))

    def _close(self, path: str) -> None:
        self._texts.pop(path, None)
        self._project.forget(path)

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def _current(self, uri: str) -> _Checked | None:
        """A document as it was checked; None if it is not open, has changed meanwhile, or its settings are wrong."""
        opened = self._opened(uri)
        if opened is None or not opened.documents:
            return None
        try:
            checked = await self._in_thread(self._check, opened, opened.texts)
        except ConfigError as error:
            self._complain(str(error))
            return None
        now = self._opened(uri)
        return checked._replace(opened=now) if now is not None and now.texts == checked.texts else None

    def _check(self, opened: _Opened, texts: list[str]) -> _Checked:
        before = self._checked.get(opened.path)
        if before is not None and before.texts == texts:
            return before
        settings = Configuration(self._said).settings_of(opened.path)
        if opened.is_notebook:
            source: Source = Notebook.from_cells(texts, opened.path)
        else:
            source = Source.from_text(texts[0], opened.path)
            if self._texts.get(opened.path) != texts[0]:
                self._texts[opened.path] = texts[0]
                self._project.forget(opened.path)
        found: dict[Finding, Judgement] = {}
        errors: tuple[SourceError, ...] = ()
        try:
            if not is_left_out(opened.path, settings):
                found = {each.finding: each for each in pipeline.judge(source, settings, self._project)}
        except SourceError as error:
            errors = (error,)
        except RecursionError:
            errors = (SourceError(opened.path, "cannot be checked: nested too deeply"),)
        self._checked[opened.path] = _Checked(opened, texts, source, found, (*errors, *source.skipped))
        return self._checked[opened.path]

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        checked = await self._current(uri)
        if checked is None:
            return
        documents = checked.opened.documents
        told: list[list[types.Diagnostic]] = [[] for _ in documents]
        for finding in checked.judgements:
            told[checked.number_of(finding.start.row)].append(self._diagnostic(finding, checked.source))
        for error in checked.errors:
            number, place = (error.cell or 1) - 1, error.position or Position(1, 1)
            span = self._span(Source.from_text(checked.texts[number], checked.opened.path), place, place)
            severity = types.DiagnosticSeverity.Error
            told[number].append(types.Diagnostic(span, error.reason, severity=severity, source="tonumpy"))
        for document, diagnostics in zip(documents, told, strict=True):
            params = types.PublishDiagnosticsParams(document.uri, diagnostics, version=document.version)
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
        uri, only = params.text_document.uri, params.context.only
        checked = await self._current(uri)
        if checked is None:
            return []

        def wants(kind: str) -> bool:
            return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)

        rows, found, actions = checked.rows_of(uri), list(checked.judgements), list[types.CodeAction]()
        here = [finding for finding in found if finding.start.row in rows]
        if wants(types.CodeActionKind.QuickFix):
            first, last = rows.start + params.range.start.line, rows.start + params.range.end.line
            # Wherever the cursor is in the line: not every editor brings it to the finding.
            for each in (each for each in here if first <= each.end.row and each.start.row <= last):
                title = _title_of(each)
                for action in await self._fixes(checked, [each], title, types.CodeActionKind.QuickFix):
                    action.diagnostics = [self._diagnostic(each, checked.source)]
                    action.is_preferred = _safe([each]) != []
                    actions.append(action)
            if any(each.fix and each.fix.applicability == "unsafe" for each in found):
                title = "tonumpy: Fix all, unsafe too"
                actions += await self._fixes(checked, found, title, types.CodeActionKind.QuickFix)
        is_automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic  # at every move
        if wants(FIX_ALL) and not (only is None and is_automatic):
            title = f"tonumpy: Fix all that is safe{' in this cell' if checked.opened.is_notebook else ''}"
            actions += await self._fixes(checked, _safe(here), title, FIX_ALL)
        if checked.opened.is_notebook and wants(FIX_NOTEBOOK):
            title = "tonumpy: Fix all that is safe in this notebook"
            actions += await self._fixes(checked, _safe(found), title, FIX_NOTEBOOK)
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
            changes.setdefault(checked.opened.documents[checked.number_of(each.start.row)].uri, []).append(edit)
        return [types.CodeAction(title, kind=kind, edit=types.WorkspaceEdit(changes=changes))] if changes else []

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Explain the conversion at the cursor, reported or not."""
        checked = await self._current(params.text_document.uri)
        rows = range(0) if checked is None else checked.rows_of(params.text_document.uri)
        row, at = rows.start + params.position.line, (params.position.line, params.position.character)
        if checked is None or row not in rows:
            return None
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
        return [each._replace(answers=tuple(_placed(each.answers, source))) for each in found]


def _placed(answers: Iterable[Answer], source: Source) -> Iterator[Answer]:
    """With the rows of the cells in place of those of the module that they make."""
    return (each._replace(grounds=source.placed_grounds(each.grounds)) for each in answers)


def _title_of(finding: Finding) -> str:
    fix = finding.fix
    return f"{fix.message} ({finding.code}{_SUFFIXES.get(fix.applicability, '')})" if fix else ""


def _safe(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.fix and each.fix.applicability == "safe"]


def _page(explained: Explanation, findings: Sequence[Finding]) -> str:
    """The answers of `tonumpy why` as Markdown, with the findings that are told."""
    parts = [] if findings else ["Not reported by tonumpy."]
    for each in findings:
        repair = f"\n\n{each.fix.applicability}: {each.fix.message}" if each.fix else ""
        parts.append(f"**[{each.code}]({each.url})** ({each.confidence} confidence): {each.message}{repair}")
    for answer in explained.answers:
        lines = [f"**{answer.about}:** {answer.text}"]
        for ground in answer.grounds:
            place = f" ({os.path.basename(ground.place)})" if ground.row else ""
            lines.append(f"- {ground.source}: {ground.message}{place}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


_SERVER = Server()
_feature = _SERVER.feature
# pygls marks what it is given, and gives the server for a parameter that is called `ls`.
_feature(types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)(partial(_SERVER.actions))
_feature(types.TEXT_DOCUMENT_HOVER)(partial(_SERVER.hover))


def serve() -> bool:
    """Answer one editor on standard input and output until it is gone. True if it has said goodbye before."""
    _SERVER.start_io()
    return _SERVER.is_told_to_stop


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
