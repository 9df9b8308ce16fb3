"""Stores the fingerprints of modules that files have followed (see cache/module_fingerprint.py).

They are kept beside the findings, and loaded only if such a module has changed.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tonumpy.engine.names.lookups import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from tonumpy.cache.cache_entries import Kept

PART = "part"  # the kind of lookup that tells it


class Fingerprints:
    """Fingerprints by file name, as a text whose digest is kept with the file's findings: with another digest, it
    belongs to other findings. `load` gives what a former run has left."""

    def __init__(self, load: Callable[[], list[Any] | None]) -> None:
        self._load = load
        self._kept: dict[str, str] = {}  # in this run
        self._left: dict[str, Any] | None = None  # by a former one
        self._unpacked: dict[str, dict[str, Any]] = {}

    def keep(self, name: str, kept: Kept) -> str:
        """Store the fingerprints for `kept` and return their digest. A module that a finding names a place in counts as
        a whole."""
        named = {os.path.abspath(ground.filename) for finding in kept.findings for ground in finding.evidence}
        asked = kept.lookups or ()
        filenames = {each.about[0]: each.answer[0] for each in asked if each.kind == "module"}
        parts = {each.about[0]: each.answer for each in asked if each.kind == PART}
        found = {path: part for path, part in parts.items() if filenames[path] not in named}
        self._kept[name] = text = json.dumps(found, separators=(",", ":"))
        self._unpacked[name] = found
        return _mark(text)

    def of(self, name: str, mark: str) -> dict[str, Any]:
        """The fingerprints with the digest `mark`, by the paths of their modules."""
        if name not in self._unpacked:
            text = self._texts_left.get(name)
            self._unpacked[name] = json.loads(text) if isinstance(text, str) and _mark(text) == mark else {}
        return self._unpacked[name]

    def changed(self, names: Collection[str]) -> list[object] | None:
        """What the next run shall load, for files that are still kept; None if nothing changed."""
        if not self._kept:
            return None
        return [{name: text for name, text in {**self._texts_left, **self._kept}.items() if name in names}]

    @property
    def _texts_left(self) -> dict[str, Any]:
        if self._left is None:
            left = self._load() or [{}]
            self._left = left[0] if isinstance(left[0], dict) else {}
        return self._left


def _mark(text: str) -> str:
    return digest_of([text.encode()])
