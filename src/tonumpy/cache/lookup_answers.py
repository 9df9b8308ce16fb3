"""Whether a question that was asked while findings were made would still have the same answer now.

Each question is asked once in a run, however many files asked it. Whether a file is there is read off the listing of
its folder, which is made once for all questions; what is in it has not changed if the system says so (`Stamp`), or else
is read.
"""

from __future__ import annotations

import os
from errno import EFBIG
from functools import partial
from typing import TYPE_CHECKING

from tonumpy.cache.neighbours import Neighbours
from tonumpy.cache.searches import KINDS as SEARCHES
from tonumpy.cache.searches import Searches
from tonumpy.engine.names.folders import MAX_BYTES, Folders, files_of_module
from tonumpy.engine.names.lookups import FOLDER, TOO_LARGE, Content, Stamp, as_answer, content_of, stamp_of
from tonumpy.text.reading import MAX_BYTES as NO_LIMIT
from tonumpy.text.reading import read_looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_FILE, _FOLDER, _OTHER, _NOTHING = range(4)
_REPOSITORY, _NEIGHBOURS = "repository", "neighbours"


class Listings(Folders):
    """What there is on the disk, each folder listed once."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, int] | None] = {}
        self._searched: dict[str, list[str]] = {}

    def is_file(self, path: str) -> bool:
        return self._kind(path) == _FILE

    def is_folder(self, path: str) -> bool:
        return self._kind(path) == _FOLDER

    def exists(self, path: str) -> bool:
        return self._kind(path) != _NOTHING

    def names_in(self, folder: str) -> list[str]:
        return list(self._listing(folder) or super().names_in(folder))

    def holds_folder(self, folder: str, name: str) -> bool:
        return self._kind_in(folder, name) == _FOLDER

    def holds_module(self, folder: str, name: str) -> bool:
        listing = self._listing(folder) if name.isascii() else None
        if listing is not None and listing.get(name) != _FOLDER:  # as it is nearly everywhere
            return listing.get(f"{name}.py") == _FILE
        return super().holds_module(folder, name)

    def searched(self, folder: str) -> list[str]:
        """Those that are there: the others hold nothing."""
        if folder not in self._searched:
            self._searched[folder] = [each for each in super().searched(folder) if self.is_folder(each)]
        return self._searched[folder]

    def _kind(self, path: str) -> int:
        return self._kind_in(*os.path.split(path))

    def _kind_in(self, folder: str, name: str) -> int:
        listing = self._listing(folder) if name and name.isascii() else None
        if listing is not None:
            return listing.get(name, _NOTHING)
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return _FILE
        if os.path.isdir(path):
            return _FOLDER
        return _OTHER if os.path.exists(path) else _NOTHING

    def _listing(self, folder: str) -> dict[str, int] | None:
        """None where a listing does not tell whether there is a file of some name."""
        if folder not in self._folders:
            self._folders[folder] = _listing(folder)
        return self._folders[folder]


def _listing(folder: str) -> dict[str, int] | None:
    found = {}
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                kind = _FILE if entry.is_file() else _FOLDER if entry.is_dir() else _OTHER
                if kind == _OTHER and not os.path.exists(entry.path):  # a link that leads nowhere
                    kind = _NOTHING
                found[entry.name] = kind
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError:
        return None
    return found if _tells_case(folder, found) else None


def _tells_case(folder: str, names: dict[str, int]) -> bool:
    """Whether a file `a` cannot be had as `A` as well, which depends on the file system and even on the folder."""
    for name in names:
        other = name.swapcase()
        if other != name and name.isascii() and other not in names:
            return not os.path.lexists(os.path.join(folder, other))
    return False


class LookupAnswers:
    """What the disk says now. `by_stamp` is False where the stamps of files mean nothing, and all are read."""

    def __init__(self, *, by_stamp: bool, load: Callable[[str, str], list[Any] | None] = lambda *_: None) -> None:
        """`load` gives what `changed` has given a former run to keep."""
        self.listings = Listings()
        self._by_stamp = by_stamp
        self._asked: dict[tuple[str, ...], tuple[object, object]] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self.searches = Searches(self._stamp if by_stamp else None, partial(load, _REPOSITORY))
        self._neighbours = Neighbours(self.content, partial(load, _NEIGHBOURS))
        self._read: dict[tuple[str, int], Content | str | None] = {}

    def shortened(self, kind: str, about: Sequence[str], answer: Sequence[Any]) -> object:
        """What `renewed` needs of an answer that some process got; what is left is remembered once for all files."""
        if kind == "around":
            roots, found = answer
            self._neighbours.remember(about[0], found)
            return [roots]
        return self.searches.shortened(kind, about, answer) if kind in SEARCHES else answer

    def changed(self) -> Iterator[tuple[str, str, object]]:
        """What the next run shall load: what it is, what it is about, and what is known of it."""
        yield from ((_REPOSITORY, top, known) for top, known in self.searches.changed())
        yield from ((_NEIGHBOURS, folder, found) for folder, found in self._neighbours.changed())

    def renewed(self, kind: str, about: Sequence[str], answer: object) -> object:
        """The answer, where it would be the same now, with the stamps that files have now; None where it would not."""
        key = (kind, *about)
        known = self._asked.get(key)
        if known is None or known[0] != answer:
            again = getattr(self, f"_{kind}", None) or getattr(self.searches, f"_{kind}", None)
            known = self._asked[key] = (answer, None if again is None else again(*about, answer))
        return known[1]

    def content(self, known: Sequence[Any], most: int = NO_LIMIT) -> Content | None:
        """That of a file which has the known stamp or digest, and no more bytes than that; None for any other."""
        filename, stamp, digest = known
        if self._by_stamp and stamp is not None and self._stamp(filename) == tuple(stamp):
            return Content(filename, Stamp(*stamp), digest)
        found = self._content(filename, most)
        return found if isinstance(found, Content) and found.digest == digest else None

    def has_stamp(self, filename: str, stamp: Sequence[int]) -> bool:
        return self._stamp(filename) == tuple(stamp)

    def changed_module(self, path: str, answer: Sequence[Any]) -> Content | None:
        """What is there for a module now, where it is the same file with another content."""
        filename, *rest = answer
        content = self._content(filename, MAX_BYTES) if rest else None
        return content if isinstance(content, Content) and self._module(path, as_answer(content)) else None

    # The questions of cache/recorded.py. Each gives what `renewed` does.

    def _module(self, path: str, answer: list[Any]) -> object:
        is_folder = self.listings.is_folder(path)  # nearly always not, and what is not there is not listed
        for filename in files_of_module(path, is_folder=is_folder):
            most = NO_LIMIT if filename.endswith(".ipynb") else MAX_BYTES
            if self.listings.is_file(filename):
                if filename == answer[0]:
                    content = self.content(answer, most)
                    return None if content is None else as_answer(content)
                found = self._content(filename, most)
                if found is not None:
                    return answer if [found] == answer else None
        found = FOLDER if is_folder else None
        return answer if [found] == answer else None

    def _roots(self, root: str, folder: str, answer: list[Any]) -> object:
        found = self.listings.roots(root, folder)
        return answer if [list(found.holding), list(found.of_folders)] == answer else None

    def _holds(self, folder: str, name: str, answer: list[Any]) -> object:
        return answer if [self.listings.holds_module(folder, name)] == answer else None

    def _package(self, folder: str, answer: list[Any]) -> object:
        return answer if [self.listings.is_package(folder)] == answer else None

    def _above(self, folder: str, answer: list[Any]) -> object:
        return answer if list(self.listings.above(folder)) == answer else None

    def _around(self, folder: str, answer: list[Any]) -> object:
        """What the neighbours import counts, and nothing else in them."""
        return answer if [self._neighbours.roots(folder, self.listings.neighbours(folder))] == answer else None

    def _stamp(self, filename: str) -> Stamp | None:
        if filename not in self._stamps:
            try:
                self._stamps[filename] = stamp_of(os.stat(filename))
            except OSError:
                self._stamps[filename] = None
        return self._stamps[filename]

    def _content(self, filename: str, most: int) -> Content | str | None:
        key = filename, most
        if key not in self._read:
            try:
                self._read[key] = content_of(filename, *read_looked_at(filename, most))
            except OSError as error:
                self._read[key] = TOO_LARGE if error.errno == EFBIG else None
        return self._read[key]
