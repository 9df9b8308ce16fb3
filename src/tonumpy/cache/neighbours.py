"""What the modules of a folder import, kept once for all files that asked which frameworks are spoken there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.folders import MAX_BYTES
from tonumpy.engine.names.lookups import Content, as_answer, content_of
from tonumpy.text.reading import read_looked_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Neighbour = list[Any]  # a file, its stamp, its digest and what it imports


class Neighbours:
    """`content` tells that of a file which has a known stamp or digest, and is of no more bytes than that; `load` gives
    what a former run has left of a folder."""

    def __init__(
        self, content: Callable[[Sequence[Any], int], Content | None], load: Callable[[str], list[Any] | None]
    ) -> None:
        self._content = content
        self._load = load
        self._left: dict[str, list[Neighbour]] = {}  # by a former run
        self._found: dict[str, list[Neighbour]] = {}
        self._imports: dict[str, Neighbour] = {}  # of files that have changed

    def roots(self, folder: str, filenames: Sequence[str]) -> list[str]:
        """What these modules of the folder import, all together."""
        if folder not in self._found:
            known = {each[0]: each for each in self._left_in(folder)}
            self._found[folder] = [self._neighbour(each, known.get(each)) for each in filenames]
        return sorted({root for *_, own in self._found[folder] for root in own})

    def remember(self, folder: str, found: list[Neighbour]) -> None:
        """What another process has found."""
        self._left_in(folder)
        self._found[folder] = found

    def changed(self) -> Iterator[tuple[str, list[Neighbour]]]:
        """What the next run shall load of each folder of which something else is known than before."""
        return ((folder, found) for folder, found in self._found.items() if found != self._left_in(folder))

    def _left_in(self, folder: str) -> list[Neighbour]:
        if folder not in self._left:
            self._left[folder] = self._load(folder) or []
        return self._left[folder]

    def _neighbour(self, filename: str, known: Neighbour | None) -> Neighbour:
        content = None if known is None else self._content(known[:3], MAX_BYTES)
        if known is not None and content is not None:
            return [*as_answer(content), known[3]]
        if filename not in self._imports:
            self._imports[filename] = _imports(filename)
        return self._imports[filename]


def _imports(filename: str) -> Neighbour:
    """A file with what it imports, which is nothing if it cannot be read."""
    from tonumpy.engine.names.frameworks import roots_in  # where no file has changed, it is not needed: start-up

    try:
        data, found = read_looked_at(filename, MAX_BYTES)
    except OSError:
        return [*as_answer(Content(filename, None, "")), []]
    return [*as_answer(content_of(filename, data, found)), sorted(roots_in(data))]
