"""A Language Server Protocol server over stdio, with diagnostics, quick fixes and hovers."""

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from tonumpy import __version__, pipeline
from tonumpy.cli.files import is_left_out
from tonumpy.config import Choices, ConfigError, Configuration, read_table
from tonumpy.engine.names.project import Project
from tonumpy.findings import Explanation, Finding, Position, SourceError
from tonumpy.judgements import Judgement
from tonumpy.report.parts.entries import severity
from tonumpy.text.notebooks import Notebook
from tonumpy.text.source import Source
from tonumpy.why import explain

FIX_ALL = "source.fixAll.tonumpy"
FIX_NOTEBOOK = "notebook.source.fixAll.tonumpy"

_PAUSE = 0.2  # seconds without a change before a check, so that a burst of keys is checked once
_SUFFIXES = {"safe": "", "unsafe": ", unsafe"}
_SEVERITIES = ("error", "warning", "note")  # which the protocol counts from 1
_CELLS = types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])


class _Checked(NamedTuple):
    """A checked version of a document, or of a notebook with the documents of its Python cells."""

    path: str
    is_notebook: bool
    documents: tuple[TextDocument, ...]
    texts: tuple[str, ...]
    source: Source
    judgements: dict[Finding, Judgement]
    errors: tuple[SourceError, ...]

    def document_of(self, row: int) -> TextDocument:
        """The document that contains a row of the source."""
        return self.documents[self.source.cell_at(row)[0] - 1]

    def row_of(self, uri: str, line: int) -> int:
        """The row of the source for a line of a document; 0 if there is none."""
        for number, document in enumerate(self.documents):
            if unquote(document.uri) == unquote(uri) and line <= self.texts[number].count("\n"):
                return line + (self.source.row_of(number + 1, 1) if self.is_notebook else 1)
        return 0


class Server(LanguageServer):
    """The server, with the open documents, their settings, and their findings."""

    def __init__(self) -> None:
        super().__init__(
            "tonumpy",
            __version__,
            # Send whole documents: pygls and the protocol differ in which characters end a line.
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=types.NotebookDocumentSyncOptions([_CELLS], save=True),
        )
        self.is_told_to_stop = False
        self._said: Choices = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._checked: dict[str, _Checked] = {}
        self._project = Project()
        self._complaints: set[str] = set()

    def configure(self, settings: object) -> None:
        """Take the editor's settings, in the shape of `[tool.tonumpy]`; if they are wrong, the earlier ones stay."""
        for name in ("settings", "tonumpy"):  # an editor may nest them under one of these names
            if isinstance(settings, dict) and name in settings:
                settings = settings[name]
        if not settings:  # an editor without settings, or one that waits to be asked, may send this
            return
        if isinstance(settings, dict):  # most editors name settings in camel case: `unsafeFixes`
            settings = {re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", key): settings[key] for key in settings}
        root = self.workspace.root_path or os.getcwd()
        try:
            # The path names a file in the folder to which the settings are relative.
            self._said = read_table(settings, os.path.join(root, "the editor's settings"))
            self.forget()
        except ConfigError as error:
            self._complain(str(error))

    def forget(self) -> None:
        """Drop all cached files and settings, and check the open documents again."""
        self._complaints.clear()
        self._checked, self._project = {}, Project()
        for uri in {*self.workspace.text_documents, *self.workspace.notebook_documents}:
            self.changed(uri)

    def _complain(self, text: str) -> None:
        """Show an error message, once for each text."""
        if text not in self._complaints:
            self._complaints.add(text)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"tonumpy: {text}"))

    def changed(self, uri: str) -> None:
        """Schedule a check of a document or notebook; a new change restarts the wait."""
        if uri in self._waiting:
            self._waiting[uri].cancel()
        self._waiting[uri] = asyncio.get_running_loop().create_task(self._publish(uri))

    def withdraw(self, *documents: str) -> None:
        """Clear the diagnostics of documents."""
        for each in documents:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(each, []))

    async def current(self, uri: str) -> _Checked | None:
        """The checked version of the open document or notebook with this URI, or with a cell of this URI; None if it is
        not open, or its settings are wrong."""
        await asyncio.sleep(0.02)  # lets the editor cancel the request
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        notebook = notebook or self.workspace.get_notebook_document(cell_uri=uri)
        addresses = [uri]
        if notebook is not None:
            uri = notebook.uri
            addresses = [cell.document for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code]
        found = [self.workspace.text_documents.get(unquote(each)) for each in addresses]
        documents = tuple(each for each in found if each is not None)
        try:
            return self._check(to_fs_path(uri) or uri, documents, notebook is not None) if documents else None
        except ConfigError as error:
            self._complain(str(error))
            return None

    def _check(self, path: str, documents: tuple[TextDocument, ...], is_notebook: bool) -> _Checked:
        texts = tuple(each.source for each in documents)
        before = self._checked.get(path)
        if before is not None and before.texts == texts:
            return before._replace(documents=documents)
        settings = Configuration(self._said).settings_of(path)
        source = Notebook.from_cells(texts, path) if is_notebook else Source.from_text(texts[0], path)
        found: dict[Finding, Judgement] = {}
        errors: tuple[SourceError, ...] = ()
        try:
            if not is_left_out(path, settings):
                found = {each.finding: each for each in pipeline.judge(source, settings, self._project)}
        except SourceError as error:
            errors = (error,)
        except RecursionError:
            errors = (SourceError(path, "cannot be checked: nested too deeply"),)
        checked = _Checked(path, is_notebook, documents, texts, source, found, (*errors, *source.skipped))
        self._checked[path] = checked
        return checked

    async def _publish(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        checked = await self.current(uri)
        if checked is None:
            return
        told: dict[str, list[types.Diagnostic]] = {document.uri: [] for document in checked.documents}
        for finding in checked.judgements:
            told[checked.document_of(finding.start.row).uri].append(self._diagnostic(finding, checked.source))
        for error in checked.errors:
            document, place = checked.documents[(error.cell or 1) - 1], error.position or Position(1, 1)
            span = self._span(Source.from_text(document.source, checked.path), place, place)
            kind = types.DiagnosticSeverity.Error
            told[document.uri].append(types.Diagnostic(span, error.reason, kind, source="tonumpy"))
        for document in checked.documents:
            params = types.PublishDiagnosticsParams(document.uri, told[document.uri], version=document.version)
            self.text_document_publish_diagnostics(params)

    def _diagnostic(self, finding: Finding, source: Source) -> types.Diagnostic:
        return types.Diagnostic(
            self._span(source, finding.start, finding.end),
            finding.message,
            severity=types.DiagnosticSeverity(_SEVERITIES.index(severity(finding)) + 1),
            code=finding.code,
            code_description=types.CodeDescription(finding.url),
            source="tonumpy",
        )

    def _span(self, source: Source, start: Position, end: Position) -> types.Range:
        """The range in its own document, in the editor's units."""
        first = source.cell_at(start.row)[1]
        units = self.workspace.position_codec.client_num_units
        places = []
        for each in (start, end):
            row = min(each.row, len(source.line_starts))
            before = source.line(row).rstrip("\r\n")[: each.column - 1]
            places.append(types.Position(row - first, units(before)))
        return types.Range(*places)

    def actions(self, checked: _Checked, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The actions that repair each finding in the range, and all safe ones of the document or notebook."""
        uri, only = params.text_document.uri, params.context.only

        def wants(kind: str) -> bool:
            return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)

        actions: list[types.CodeAction] = []
        first, last = (checked.row_of(uri, each.line) for each in (params.range.start, params.range.end))
        for each in checked.judgements if wants(types.CodeActionKind.QuickFix) else ():
            # Wherever the cursor is in the line: not every editor moves it to the finding.
            if each.fix is not None and first <= each.end.row and each.start.row <= last:
                title = f"{each.fix.message} ({each.code}{_SUFFIXES.get(each.fix.applicability, '')})"
                for action in self._fixes(checked, [each], title, types.CodeActionKind.QuickFix):
                    action.diagnostics = [self._diagnostic(each, checked.source)]
                    action.is_preferred = each.fix.applicability == "safe"
                    actions.append(action)
        kind = FIX_NOTEBOOK if checked.is_notebook else FIX_ALL
        if wants(kind) and first:
            safe = [each for each in checked.judgements if each.fix and each.fix.applicability == "safe"]
            actions += self._fixes(checked, safe, "tonumpy: Fix all that is safe", kind)
        return actions

    def _fixes(self, checked: _Checked, findings: Sequence[Finding], title: str, kind: str) -> list[types.CodeAction]:
        """The action that repairs these findings together; empty if none of them can be repaired."""
        due = [checked.judgements[each] for each in findings if each.fix and each.fix.applicability in _SUFFIXES]
        try:
            edits = pipeline.repair(checked.source, due) if due else ()
        except SourceError:  # the edits could not be verified
            return []
        changes: dict[str, list[types.TextEdit]] = {}
        for each in edits:
            edit = types.TextEdit(self._span(checked.source, each.start, each.end), each.content)
            changes.setdefault(checked.document_of(each.start.row).uri, []).append(edit)
        return [types.CodeAction(title, kind=kind, edit=types.WorkspaceEdit(changes=changes))] if changes else []

    def hover(self, checked: _Checked, params: types.HoverParams) -> types.Hover | None:
        """Explain the conversion at the cursor, reported or not."""
        row, source = checked.row_of(params.text_document.uri, params.position.line), checked.source
        settings = Configuration(self._said).settings_of(checked.path)
        at = (params.position.line, params.position.character)
        try:
            explained = explain(source, settings, self._project, row) if row else []
        except (SourceError, RecursionError):
            return None
        for each in explained:
            end = each.start._replace(column=each.start.column + len("numpy"))
            start, end = next(((told.start, told.end) for told in each.findings), (each.start, end))
            span = self._span(source, start, end)
            if (span.start.line, span.start.character) <= at <= (span.end.line, span.end.character):
                shown = _page(each, [told for told in each.findings if told in checked.judgements], source)
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, shown), span)
        return None


def _page(explained: Explanation, findings: Sequence[Finding], source: Source) -> str:
    """The answers of `tonumpy why` as Markdown, with the reported findings."""
    parts = [] if findings else ["Not reported by tonumpy."]
    for each in findings:
        repair = f"\n\n{each.fix.applicability}: {each.fix.message}" if each.fix else ""
        parts.append(f"**[{each.code}]({each.url})** ({each.confidence} confidence): {each.message}{repair}")
    for answer in explained.answers:
        grounds = (f"\n- {ground.words_with_place}" for ground in map(source.placed_ground, answer.grounds))
        parts.append("".join((f"**{answer.about}:** {answer.text}", *grounds)))
    return "\n\n".join(parts)


def serve() -> bool:
    """Serve one editor on standard input and output until it disconnects. True if it has sent `shutdown` before."""
    server = Server()
    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK])
    for name, answer in _ANSWERS.items():
        server.feature(name, kinds if name == types.TEXT_DOCUMENT_CODE_ACTION else None)(answer)
    server.start_io()
    return server.is_told_to_stop


async def _actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    checked = await ls.current(params.text_document.uri)
    return ls.actions(checked, params) if checked else []


async def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    checked = await ls.current(params.text_document.uri)
    return ls.hover(checked, params) if checked else None


def _cells_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    cells = params.change.cells
    ls.withdraw(*(each.uri for each in (cells and cells.structure and cells.structure.did_close) or ()))
    ls.changed(params.notebook_document.uri)


# pygls passes the server to a parameter named `ls`.
_ANSWERS: dict[str, Callable[[Server, Any], object]] = {
    types.INITIALIZE: lambda ls, params: ls.configure(params.initialization_options),
    types.SHUTDOWN: lambda ls, *_: setattr(ls, "is_told_to_stop", True),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: lambda ls, params: ls.configure(params.settings),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda ls, _: ls.forget(),
    types.TEXT_DOCUMENT_CODE_ACTION: _actions,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DID_OPEN: lambda ls, params: ls.changed(params.text_document.uri),
    types.TEXT_DOCUMENT_DID_CHANGE: lambda ls, params: ls.changed(params.text_document.uri),
    types.TEXT_DOCUMENT_DID_SAVE: lambda ls, _: ls.forget(),
    types.TEXT_DOCUMENT_DID_CLOSE: lambda ls, params: ls.withdraw(params.text_document.uri),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: lambda ls, params: ls.changed(params.notebook_document.uri),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: _cells_changed,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: lambda ls, _: ls.forget(),
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: lambda ls, params: ls.withdraw(
        *(each.uri for each in params.cell_text_documents)
    ),
}
