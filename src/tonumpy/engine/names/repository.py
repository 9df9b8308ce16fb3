"""Text search in the repository around a file: nothing is parsed here."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from tonumpy.boundary.foreign import is_foreign
from tonumpy.engine.names.reads import NameSearch, Reads, kind_of
from tonumpy.text.reading import read_regular

MAX_FILES = 20_000
MAX_SIZE = 64_000_000  # bytes of all files; a larger repository is not searched
TOO_LARGE = "too large"  # the pattern of the search that tests this
MAX_ANCESTORS = 12  # how many folders above a file are searched for the top of its repository
MAX_ENTRIES = 1_000  # of the working folder, when it is searched for several projects
LONG_TEXT = 200_000  # bytes
_LONG_LINE = 2_000  # bytes

_TOPS = (".git", ".hg")  # a nested repository is a separate one
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


def top_of_repository(folder: str, exists: Callable[[str], bool] = os.path.exists) -> str | None:
    """The top folder of the repository around an absolute folder; it does not depend on the files under check.
    Without version control and project files it is the working folder, as for a hook and most runs of a checker; None
    if that contains several projects.
    """
    above = list(_folders_above(folder))
    for each in above:
        if _holds_any(each, _TOPS, exists):
            return each
    outermost = next((each for each in reversed(above) if _holds_any(each, _PROJECT_FILES, exists)), None)
    if outermost is not None:
        return outermost
    here = os.getcwd()
    return here if here in above and not _holds_projects(here) else None


def _folders_above(folder: str) -> Iterator[str]:
    for _ in range(MAX_ANCESTORS):
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _holds_any(folder: str, names: tuple[str, ...], exists: Callable[[str], bool] = os.path.exists) -> bool:
    return any(exists(os.path.join(folder, name)) for name in names)


def _holds_projects(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number > MAX_ENTRIES:
                    return True
                if entry.is_dir(follow_symlinks=False) and _holds_any(entry.path, (*_TOPS, *_PROJECT_FILES)):
                    return True
    except OSError:
        return True
    return False


def searchable(text: bytes) -> bytes:
    """A text without embedded data: a file over LONG_TEXT loses its long lines, and all of its text if it imports
    nothing."""
    if len(text) <= LONG_TEXT:
        return text
    return b"\n".join(each for each in text.split(b"\n") if len(each) < _LONG_LINE) if b"import" in text else b""


def where_it_stands(search: NameSearch, texts: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """The files that match the search; `%s` in the pattern is the name, as a whole word."""
    word, find = search.name.encode(), None
    for path, text in texts:
        if word not in text:  # some twenty times faster than to search for the pattern, or to compile it
            continue
        if find is None:
            find = re.compile(search.pattern.replace("%s", re.escape(search.name)).encode()).search
        if find(text):
            yield path


def read_texts(top: str) -> dict[str, bytes] | None:
    """The texts of a repository's Python files, sorted by absolute path. None if it is too large, or a file cannot be
    read."""
    texts: dict[str, bytes] = {}
    size = 0
    for number, path in enumerate(python_files(top)):
        try:
            text = read_regular(path)
        except OSError:
            return None
        size += len(text)
        if number >= MAX_FILES or size > MAX_SIZE:
            return None
        texts[path] = searchable(text)
    return dict(sorted(texts.items()))


def python_files(top: str) -> Iterator[str]:
    """The Python files below a folder, without links, foreign folders (as `is_foreign` defines) and nested
    repositories."""
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError:
            continue
        if folder != top and any(entry.name in _TOPS for entry in entries):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not is_foreign(entry.path):
                    folders.append(entry.path)
            elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
                yield entry.path


class Searched:
    """A repository whose searches are each run once."""

    def __init__(self, top: str, reads: Reads) -> None:
        self._top = top
        self._reads = reads
        self._found: dict[NameSearch, list[str]] = {}

    @cached_property
    def _texts(self) -> dict[str, bytes] | None:
        return read_texts(self._top)

    @property
    def is_too_large(self) -> bool:
        """True if it is too large to be searched, or a file cannot be read."""
        return len(self.found(NameSearch(self._top, "", TOO_LARGE))) > 1

    def naming(self, name: str, pattern: str = r"%s(?<!\w%s)\b") -> list[str]:
        """The files in which a name matches the pattern; `%s` is the name."""
        return self.found(NameSearch(self._top, name, pattern))

    def found(self, search: NameSearch) -> list[str]:
        """The files that match a search."""
        if search not in self._found:
            if search.pattern == TOO_LARGE:
                self._found[search] = ["", *([] if self._texts else [self._top])]
            else:
                self._found[search] = self._search(search, self._texts or {})
        self._reads.note_search(search, self._found[search])
        return self._found[search]

    def _search(self, search: NameSearch, texts: dict[str, bytes]) -> list[str]:
        return sorted(where_it_stands(search, texts.items()))


class Repositories:
    """The repositories that the files of a run are in, each read once."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._tops: dict[str, str | None] = {}  # by folder
        self._searched: dict[str, Searched] = {}

    def around(self, folder: str) -> Searched | None:
        """The repository around an absolute folder; None if there is none, or it is too large to be searched."""
        if folder in self._tops:
            self._reads.repeat(("top", folder))
        else:
            self._tops[folder] = self._reads.during(("top", folder), self._top_of, folder)
        top = self._tops[folder]
        if top is None:
            return None
        if top not in self._searched:
            self._searched[top] = Searched(top, self._reads)
        found = self._searched[top]
        return None if found.is_too_large else found

    def _top_of(self, folder: str) -> str | None:
        return top_of_repository(folder, lambda path: _exists(path, self._reads))


def _exists(path: str, reads: Reads) -> bool:
    kind = kind_of(path)
    reads.note("kind", path, kind)
    return bool(kind)
