"""Looks up what was found in a file before; it counts while nothing that it was found by has changed."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

from tonumpy.cache.cache_entries import Kept, packed_error, packed_finding, unpacked_error, unpacked_finding
from tonumpy.cache.fingerprints import PART, Fingerprints
from tonumpy.cache.identity import settings_key
from tonumpy.cache.lookup_answers import LookupAnswers
from tonumpy.engine.names.lookups import Stamp, as_answer, digest_of, settled, stamp_of

if TYPE_CHECKING:
    from typing import Any

    from tonumpy.cache.changed_modules import ChangedModules
    from tonumpy.cache.folder import CacheFolder
    from tonumpy.cache.seal import Seal
    from tonumpy.cache.searches import Searches
    from tonumpy.config import Settings

_NOTHING_TO_JUDGE = 1  # the length of an entry that says so
_NOTHING = Kept(None, "", None)


class Store:
    """What is kept of the files of each folder under some settings is one file of the cache; it is read when the first
    of them is asked for, and written by `save`.

    `by_stamp` is False where the stamps of files mean nothing: all are read then, and only what is costly is kept.
    """

    def __init__(self, folder: CacheFolder, seal: Seal, *, by_stamp: bool) -> None:
        self._folder = folder
        self._seal = seal
        self._by_stamp = by_stamp
        self._answers = LookupAnswers(by_stamp=by_stamp, load=self._loaded_of)
        self._modules: ChangedModules | None = None
        self._shards: dict[tuple[str, bytes], _Shard] = {}
        self._keys: dict[int, tuple[Settings, bytes]] = {}

    def known(self, path: str, settings: Settings) -> Kept | None:
        """Without the lookups, which are the same still."""
        shard, name = self._shard(path, settings)
        entry = shard.entries.get(name)
        if entry is None:
            return None
        try:
            kept = self._still_true(path, shard, entry)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError):  # not of this shape
            kept = None
        if kept is None:
            del shard.entries[name]
            shard.is_changed = True
        return kept

    def keep(self, path: str, settings: Settings, kept: Kept) -> None:
        """Not what is cheaper found out again."""
        if kept.lookups is None and (kept.stamp is None or not self._by_stamp):
            return
        shard, name = self._shard(path, settings)
        if kept.lookups is None:
            shard.entries[name] = [kept.stamp]
        else:
            findings = list(map(packed_finding, kept.findings))
            skipped = list(map(packed_error, kept.skipped))
            lookups = [each for each in kept.lookups if each.kind != PART]
            asked = [_Asked([*each[:2], self._answers.shortened(*each)]) for each in lookups]
            shard.entries[name] = [kept.stamp, kept.digest, asked, findings, skipped, shard.parts.keep(name, kept)]
        shard.is_changed = True

    def stamp(self, path: str) -> Stamp | None:
        """Of a file that is about to be read."""
        import time

        try:
            return settled(stamp_of(os.stat(path)), time.time_ns()) if self._by_stamp else None
        except OSError:
            return None

    def save(self) -> bool:
        """Whether all could be written."""
        written = [self._written(shard) for shard in self._shards.values() if shard.is_changed]
        for kind, about, known in self._answers.changed():
            written.append(self._write(_name_of(kind, about), _as_json(known).encode()))
        return all(written)

    @property
    def searches(self) -> Searches:
        return self._answers.searches

    def _written(self, shard: _Shard) -> bool:
        lookups: dict[str, int] = {}
        numbers: dict[_Asked, int] = {}
        entries = {}
        for name, entry in shard.entries.items():
            if not os.path.lexists(os.path.join(shard.folder, name)):
                continue
            if len(entry) > _NOTHING_TO_JUDGE:
                for each in entry[2]:
                    if each not in numbers:
                        numbers[each] = lookups.setdefault(_as_json(each.lookup), len(lookups))
                entry = [*entry[:2], [numbers[each] for each in entry[2]], *entry[3:]]
            entries[name] = entry
        parts = shard.parts.changed(entries)
        if parts is not None and not self._write(_name_of(PART, shard.name), _as_json(parts).encode()):
            return False
        return self._write(shard.name, f"[[{','.join(lookups)}],{_as_json(entries)}]".encode())

    def _write(self, name: str, content: bytes) -> bool:
        return self._folder.write(name, self._seal.closed(content, name.encode()))

    def _loaded(self, name: str) -> list[Any] | None:
        """None where there is nothing that is ours, or it is spoilt."""
        data = self._folder.read(name)
        content = None if data is None else self._seal.opened(data, name.encode())
        try:
            found = None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, list) else None

    def _loaded_of(self, kind: str, about: str) -> list[Any] | None:
        return self._loaded(_name_of(kind, about))

    def _shard(self, path: str, settings: Settings) -> tuple[_Shard, str]:
        known = self._keys.get(id(settings))
        if known is None:
            known = self._keys[id(settings)] = (settings, settings_key(settings))  # held, so that the id stays its own
        folder, name = os.path.split(path)
        key = (folder, known[1])
        shard = self._shards.get(key)
        if shard is None:
            shard = self._shards[key] = self._opened(folder, known[1])
        return shard, name

    def _opened(self, folder: str, settings: bytes) -> _Shard:
        parts = (os.fsencode(os.path.abspath(folder)), os.fsencode(folder), settings)
        name = digest_of(parts)
        shard = _Shard(folder, name, Fingerprints(partial(self._loaded_of, PART, name)))
        try:
            lookups, entries = self._loaded(shard.name) or ((), {})
            asked = list(map(_Asked, lookups))
            for entry in entries.values():
                if len(entry) > _NOTHING_TO_JUDGE:
                    entry[2] = [asked[number] for number in entry[2]]
            shard.entries.update(entries)
        except (ValueError, TypeError, IndexError, AttributeError):
            pass
        return shard

    def _still_true(self, path: str, shard: _Shard, entry: list[Any]) -> Kept | None:
        if len(entry) == _NOTHING_TO_JUDGE:
            return _NOTHING if self._by_stamp and self._answers.has_stamp(path, entry[0]) else None
        stamp, digest, asked, findings, skipped, mark = entry
        own = self._answers.content((path, stamp, digest))
        if own is None:
            return None
        changed = []
        for each in asked:
            if each.is_true is None:
                self._ask(each, shard)
            if not each.is_true:
                changed.append(each)
                if each.lookup[0] != "module":
                    return None
        if changed:
            parts = shard.parts.of(os.path.basename(path), mark)
            again = {each: self._in_part(each, shard, parts) for each in changed}
            if None in again.values():
                return None
            entry[2] = [again.get(each, each) for each in asked]
            shard.is_changed = True
        if self._by_stamp and (own.stamp and list(own.stamp)) != stamp:
            entry[0] = own.stamp and list(own.stamp)
            shard.is_changed = True
        found = tuple(unpacked_finding(each, path) for each in findings)
        return Kept(own.stamp, digest, (), found, tuple(unpacked_error(each, path) for each in skipped))

    def _in_part(self, asked: _Asked, shard: _Shard, parts: dict[str, Any]) -> _Asked | None:
        """What is asked for, with the answer that it has now, where a module says the same in the part that counts."""
        path, answer = asked.lookup[1][0], asked.lookup[2]
        if path not in parts:
            return None
        now = self._answers.changed_module(path, answer)
        if now is None:
            return None
        if self._modules is None:
            from tonumpy.cache.changed_modules import ChangedModules  # start-up

            self._modules = ChangedModules()
        if not self._modules.say_the_same(now, parts[path]):
            return None
        if path not in shard.renewed:
            shard.renewed[path] = _Asked([*asked.lookup[:2], as_answer(now)])
            shard.renewed[path].is_true = True
        return shard.renewed[path]

    def _ask(self, asked: _Asked, shard: _Shard) -> None:
        kind, about, answer = asked.lookup
        now = self._answers.renewed(kind, about, answer)
        asked.is_true = now is not None
        if asked.is_true and self._by_stamp and now != answer:
            asked.lookup = [kind, about, now]
            shard.is_changed = True


def _name_of(kind: str, about: str) -> str:
    return digest_of((kind.encode(), os.fsencode(about)))


def _as_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Asked:
    """A question with its answer, which all files of a folder share that asked it, and whether it is the same now."""

    __slots__ = ("is_true", "lookup")

    def __init__(self, lookup: list[Any]) -> None:
        self.lookup = lookup
        self.is_true: bool | None = None


class _Shard:
    """What is kept of the files of one folder, by their names."""

    def __init__(self, folder: str, name: str, parts: Fingerprints) -> None:
        self.folder = folder
        self.parts = parts
        self.renewed: dict[str, _Asked] = {}  # of modules that have changed
        self.name = name
        self.entries: dict[str, list[Any]] = {}
        self.is_changed = False
