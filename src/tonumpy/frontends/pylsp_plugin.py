"""The plugin of python-lsp-server: diagnostics and quick fixes for its documents, as its dictionaries."""

from __future__ import annotations

import logging
import os
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from pylsp import hookimpl

from tonumpy.config import ConfigError, read_table
from tonumpy.frontends.workbench import Workbench

if TYPE_CHECKING:
    from typing import Any

    from pylsp.config.config import Config
    from pylsp.workspace import Document, Workspace

    from tonumpy.findings import Position
    from tonumpy.frontends.workbench import Checked
    from tonumpy.text.source import Source

_ERROR = 1
_SEVERITIES = {"high": _ERROR, "medium": 2, "low": 3}
_TITLES = {"safe": "", "unsafe": ", unsafe"}


class _Bench(NamedTuple):
    """The server asks from several threads, and the workbench serves one at a time."""

    lock: Lock
    workbench: Workbench


@cache
def _bench() -> _Bench:
    return _Bench(Lock(), Workbench())


@hookimpl
def pylsp_settings() -> dict[str, Any]:
    """Beside `enabled`, what `[tool.tonumpy]` has may stand here."""
    return {"plugins": {"tonumpy": {"enabled": True}}}


@hookimpl
def pylsp_lint(config: Config, workspace: Workspace, document: Document, is_saved: bool) -> list[dict[str, Any]]:
    checked = _checked(config, workspace, document, is_saved)
    if checked is None:
        return []
    found = [
        {
            "source": "tonumpy",
            "code": finding.code,
            "codeDescription": {"href": finding.url},
            "message": finding.message,
            "severity": _SEVERITIES[finding.confidence],
            "range": _range(checked.source, finding.start, finding.end),
        }
        for finding in checked.findings
    ]
    if checked.error is not None and checked.error.position is not None:
        place = _range(checked.source, checked.error.position, checked.error.position)
        found.append({"source": "tonumpy", "message": checked.error.reason, "severity": _ERROR, "range": place})
    return found


@hookimpl
def pylsp_code_actions(
    config: Config, workspace: Workspace, document: Document, range: dict[str, Any]
) -> list[dict[str, Any]]:
    checked = _checked(config, workspace, document, False)
    actions = []
    for finding in checked.findings if checked is not None else ():
        assert checked is not None
        lies_there = range["start"]["line"] <= finding.end.row - 1 and finding.start.row - 1 <= range["end"]["line"]
        if finding.fix is None or finding.fix.applicability not in _TITLES or not lies_there:
            continue
        with _bench().lock:
            edits = _bench().workbench.repair(checked, [finding])
        changes = [{"range": _range(checked.source, each.start, each.end), "newText": each.content} for each in edits]
        if changes:
            title = f"{finding.fix.message} ({finding.code}{_TITLES[finding.fix.applicability]})"
            edit = {"changes": {document.uri: changes}}
            actions.append({"title": title, "kind": "quickfix", "edit": edit})
    return actions


def _checked(config: Config, workspace: Workspace, document: Document, is_saved: bool) -> Checked | None:
    settings = dict(config.plugin_settings("tonumpy", document_path=document.path))  # type: ignore[no-untyped-call]
    settings.pop("enabled", None)
    lock, workbench = _bench()
    with lock:
        try:
            said = read_table(settings, os.path.join(workspace.root_path or os.getcwd(), "the server's settings"))
            if is_saved or said != workbench.said:
                opened = {each.path: each.source for each in workspace.documents.values() if hasattr(each, "source")}
                workbench.forget(opened, said)
            return workbench.check(document.path, document.source)
        except ConfigError as error:
            logging.getLogger(__name__).error("%s", error)
            return None


def _range(source: Source, start: Position, end: Position) -> dict[str, dict[str, int]]:
    return {"start": _position(source, start), "end": _position(source, end)}


def _position(source: Source, position: Position) -> dict[str, int]:
    """Columns count UTF-16 units."""
    before = source.line(min(position.row, len(source.line_starts)))[: position.column - 1]
    return {"line": position.row - 1, "character": len(before.encode("utf-16-le", "surrogatepass")) // 2}
