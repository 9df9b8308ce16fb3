"""An index of text searches that is kept from run to run: only files that changed since are searched again.

Each result is kept with the `state` of all texts at that time. For some former states it is known which files have
changed since; for any other, all may have.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.lookups import digest_of, settled, stamp_of
from tonumpy.engine.names.repository import (
    MAX_FILES,
    MAX_SIZE,
    Repository,
    WordIndex,
    called_so,
    is_installable,
    python_files,
    where_it_stands,
)
from tonumpy.text.reading import read_looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from tonumpy.engine.names.lookups import Stamp

MAX_FORMER = 8  # states of which is known what has changed since
MAX_CHANGED = 500  # files: where more have changed, all are searched
_TWO_FILES = 2  # in which a name stands: one of them is another than the file at hand


class File(NamedTuple):
    stamp: Stamp | None  # None of one that had just been written
    size: int
    digest: str


class Search(NamedTuple):
    """Where a name stands as a pattern says; `most` is how many files are enough, 0 if all are wanted."""

    name: str
    pattern: str
    most: int = 0


class Found(NamedTuple):
    """The files, and the state in which they were found."""

    paths: list[str]
    state: str


class Known(NamedTuple):
    """What a run leaves to the next one: the files by their absolute paths, by former states which have changed, and
    what was found in this state or a former one."""

    files: dict[str, File]
    former: dict[str, frozenset[str]]
    found: dict[Search, Found]


NOTHING_KNOWN = Known({}, {}, {})
_NOWHERE = Found([], "")


class KnownRepository:
    """As `Repository`; no text is read before it is searched."""

    def __init__(self, top: str, known: Known, texts: dict[str, bytes]) -> None:
        self._known = known
        self.state = _state_of(known.files)  # empty where what was read does not go together
        self._ages = {state: age for age, state in enumerate((self.state, *known.former))}
        self.is_installable = is_installable(top)
        self._texts = texts  # those that have been read
        self._index = WordIndex()
        self._found: dict[Search, list[str]] = {}
        self._before = dict(known.found)

    @property
    def known(self) -> Known | None:
        """For the next run; None where nothing is known."""
        if not self.state:
            return None
        found = {search: each for search, each in self._before.items() if self._age(each) < len(self._ages)}
        found.update((search, Found(paths, self.state)) for search, paths in self._found.items())
        return self._known._replace(found=found)

    def remember(self, kind: str, about: Sequence[str], answer: Sequence[Any]) -> None:
        """What `answer` gave in another process."""
        if kind == "naming":
            name, pattern = about
            search, found = Search(name, pattern), Found(*answer)
        elif kind == "beside":
            _, name, pattern = about
            search, found = Search(name, pattern, _TWO_FILES), Found(*answer[1:])
        else:
            return
        if self._age(found) < self._age(self._before.get(search, _NOWHERE)):
            self._before[search] = found

    def _age(self, found: Found) -> int:
        return self._ages.get(found.state, len(self._ages))

    def answer(self, kind: str, about: tuple[str, ...]) -> list[object]:
        """The answer to a question, and behind it what `remember` needs."""
        if kind == "naming":
            return [self.naming(*about), self.state]
        if kind == "beside":
            return [self.names_beside(*about), self._some(*about[1:]), self.state]
        return [self.called(*about)] if kind == "called" else [self.is_installable]

    def naming(self, name: str, pattern: str) -> list[str]:
        return self._search(Search(name, pattern))

    def names_beside(self, path: str, name: str, pattern: str) -> bool:
        return any(other != path for other in self._some(name, pattern))

    def called(self, dotted: str) -> list[str]:
        return called_so(dotted, self._known.files)

    def with_text(self, path: str, text: bytes | None) -> Repository:
        texts = {each: self._text(each) for each in self._known.files}
        return Repository(texts, self.is_installable, WordIndex()).with_text(path, text)

    def _some(self, name: str, pattern: str) -> list[str]:
        """So many of the files that `naming` gives that `names_beside` can be told."""
        return self._search(Search(name, pattern, _TWO_FILES))

    def _search(self, search: Search) -> list[str]:
        if search not in self._found:
            found = self._found_before(search)
            if found is None:
                found = _first(search, self._searched(search, self._known.files))
            self._found[search] = found
        return self._found[search]

    def _found_before(self, search: Search) -> list[str] | None:
        """What was found in a former state, if that tells what is to be found now."""
        found, state = self._before.get(search, _NOWHERE)
        if state == self.state:
            return found if state else None
        changed = self._known.former.get(state)
        if changed is None:
            return None
        again = self._searched(search, sorted(changed & self._known.files.keys()))
        now = sorted({*again, *(path for path in found if path not in changed)})
        were_all = not search.most or len(found) < search.most
        return _first(search, now) if were_all or len(now) >= search.most else None

    def _searched(self, search: Search, paths: Iterable[str]) -> Iterator[str]:
        texts: Iterable[tuple[str, bytes]] = ((path, self._text(path)) for path in paths)
        if paths is self._known.files and len(self._texts) == len(self._known.files):
            texts = self._index.holding(search.name, self._in_order)
        return where_it_stands(search.name, search.pattern, texts)

    @cached_property
    def _in_order(self) -> dict[str, bytes]:
        """All texts, once each has been read, in the order of the files."""
        return {path: self._texts[path] for path in self._known.files}

    def _text(self, path: str) -> bytes:
        if path not in self._texts:
            try:
                self._texts[path] = read_looked_at(path)[0]
            except OSError:
                self._texts[path] = b""
            if digest_of([self._texts[path]]) != self._known.files[path].digest:
                self.state = ""
        return self._texts[path]


def known_repository(
    top: str, known: Known | None = None, stamp: Callable[[str], Stamp | None] | None = None
) -> KnownRepository | None:
    """None as `read_repository` gives it. `known` is what a former run has left; `stamp` tells that of a file, and is
    None where stamps mean nothing, so that all are read."""
    import time  # where no repository is read, it is not needed: start-up

    before = NOTHING_KNOWN if known is None else known
    files: dict[str, File] = {}
    texts: dict[str, bytes] = {}
    size, now = 0, time.time_ns()
    for number, path in enumerate(python_files(top)):
        if number >= MAX_FILES:
            return None
        file = before.files.get(path)
        if file is None or stamp is None or file.stamp is None or stamp(path) != file.stamp:
            try:
                texts[path], found = read_looked_at(path)
            except OSError:
                return None
            file = File(settled(stamp_of(found), now), len(texts[path]), digest_of([texts[path]]))
        files[path] = file
        size += file.size
        if size > MAX_SIZE:
            return None
    files = dict(sorted(files.items()))
    return KnownRepository(top, Known(files, _former(before, files), before.found), texts)


def _first(search: Search, found: Iterable[str]) -> list[str]:
    return list(islice(found, search.most) if search.most else found)


def _former(before: Known, files: dict[str, File]) -> dict[str, frozenset[str]]:
    if files == before.files:
        return before.former
    paths = before.files.keys() | files.keys()
    changed = frozenset(path for path in paths if _digest(before.files, path) != _digest(files, path))
    if not changed:
        return before.former
    former = {_state_of(before.files): changed}
    former.update((state, since | changed) for state, since in before.former.items())
    states = [state for state, since in former.items() if len(since) <= MAX_CHANGED][:MAX_FORMER]
    return {state: former[state] for state in states}


def _digest(files: dict[str, File], path: str) -> str | None:
    return files[path].digest if path in files else None


def _state_of(files: dict[str, File]) -> str:
    text = "\0".join(f"{path}\0{file.digest}" for path, file in files.items())
    return digest_of([text.encode(errors="surrogatepass")])
