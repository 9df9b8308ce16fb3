"""Modules that have changed, each taken apart once for all files that ask: loaded only where there is one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tonumpy.cache.module_fingerprint import has_fingerprint
from tonumpy.engine.names.lookups import digest_of
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.read_set import ReadSet
from tonumpy.findings import SourceError
from tonumpy.text.reading import read_looked_at
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from typing import Any

    from tonumpy.engine.names.lookups import Content


class ChangedModules:
    def __init__(self) -> None:
        self._known: dict[Content, Module | None] = {}
        self._same: dict[tuple[Content, str], bool] = {}

    def say_the_same(self, content: Content, part: list[Any]) -> bool:
        """Whether this content of a module gives what was read in another one."""
        if content not in self._known:
            self._known[content] = _module(content)
        module = self._known[content]
        if module is None:
            return False
        asked = content, json.dumps(part)
        if asked not in self._same:
            self._same[asked] = has_fingerprint(module, part)
        return self._same[asked]


def _module(content: Content) -> Module | None:
    filename = content.filename
    try:
        data = read_looked_at(filename)[0]
        if filename.endswith(".py") and digest_of([data]) == content.digest:
            return Module(source_of(data, filename, followed=True), Project(), read_set=ReadSet())
    except (OSError, SourceError):
        pass
    return None
