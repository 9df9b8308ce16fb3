"""The repository around a file, as texts that are searched: nothing is parsed here."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.boundary.foreign import is_foreign
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    class Texts(Protocol):
        """A repository that can be searched."""

        @property
        def is_installable(self) -> bool: ...
        def naming(self, name: str, pattern: str) -> list[str]: ...
        def names_beside(self, path: str, name: str, pattern: str) -> bool: ...
        def called(self, dotted: str) -> list[str]: ...
        def with_text(self, path: str, text: bytes | None) -> Texts: ...
        def answer(self, kind: str, about: tuple[str, ...]) -> list[object]: ...

    Read = Callable[[str], Texts | None]
    Note = Callable[[str, tuple[str, ...], Sequence[object]], None]

MAX_FILES = 20_000
MAX_SIZE = 64_000_000  # bytes of all of them; of a larger repository nothing is said
MAX_ANCESTORS = 12  # folders above a file in which the top of its repository is looked for
MAX_ENTRIES = 1_000  # of the working folder, which is no repository if it holds several
MAX_SCANS = 24  # of all texts for a word; an index of the words costs as much as some thirty
BLOCK_SIZE = 8  # texts whose words the index keeps together
LONG_TEXT = 200_000  # bytes
_NAME = re.compile(rb"[A-Za-z_]\w*")

_TOPS = (".git", ".hg")  # a repository in another one is one of its own
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


def top_of_repository(folder: str, exists: Callable[[str], bool] = os.path.exists) -> str | None:
    """The folder of the repository that an absolute folder is in, the same whichever of its files are checked.

    Where there is neither version control nor a file of a project, it is the working folder, as it is for a hook and
    for most who run a checker; not one that several projects lie in.
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


def _is_word(text: str) -> bool:
    return re.fullmatch(r"\w+", text, re.ASCII) is not None


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


class WordIndex:
    """The texts that may hold a word, in the order of the texts: the words of a few texts at a time, made when many
    words were looked for.

    A word is a run of ASCII letters, digits and underscores, as in the patterns that search bytes.
    """

    def __init__(self) -> None:
        self._scans = 0
        self._blocks: list[tuple[frozenset[bytes], list[tuple[str, bytes]]]] | None = None

    def holding(self, name: str, texts: dict[str, bytes]) -> Iterable[tuple[str, bytes]]:
        """Those texts and some beside them, or all as long as there is no index."""
        if not _is_word(name):
            return texts.items()
        if self._blocks is None:
            self._scans += 1
            if self._scans <= MAX_SCANS:
                return texts.items()
            self._blocks = _blocks_of(list(texts.items()))
        word = name.encode()
        return (each for words, block in self._blocks if word in words for each in block)


def _blocks_of(texts: list[tuple[str, bytes]]) -> list[tuple[frozenset[bytes], list[tuple[str, bytes]]]]:
    """Neighbouring texts share most of their words: a list of texts for each word takes twice as long.

    A long text is a block by itself, so that nobody searches it for a word of its neighbours.
    """
    without_signs = bytes(code if _is_word(chr(code)) else ord(" ") for code in range(256))
    blocks: list[tuple[frozenset[bytes], list[tuple[str, bytes]]]] = []
    short: list[tuple[str, bytes]] = []
    for path, text in (*texts, ("", b"")):
        is_long = len(text) > LONG_TEXT
        if short and (is_long or not path or len(short) == BLOCK_SIZE):
            words = b" ".join(each for _, each in short).translate(without_signs).split()
            blocks.append((frozenset(words), short))
            short = []
        if is_long and b"import" in text:  # else it is data, and calls nothing of others
            blocks.append((frozenset(match[0] for match in _NAME.finditer(text)), [(path, text)]))
        elif path and not is_long:
            short.append((path, text))
    return blocks


class Repository(NamedTuple):
    """The texts of its Python files, by absolute path, in the order of the paths. It may hold several packages, and
    scripts beside them.
    """

    texts: dict[str, bytes]
    is_installable: bool  # others may use what it holds, who are not in sight
    words: WordIndex

    def naming(self, name: str, pattern: str) -> list[str]:
        """The files in whose text a name stands so, as a word; `%s` in the pattern is the name."""
        return list(where_it_stands(name, pattern, self.words.holding(name, self.texts)))

    def names_beside(self, path: str, name: str, pattern: str) -> bool:
        """Whether a name stands so in the text of any file but this one: most searches then end early."""
        texts = self.words.holding(name, self.texts)
        beside = (
            (other, text) for other, text in texts if other != path
        )  # it may be long, and be asked of all its names
        return any(where_it_stands(name, pattern, beside))

    def called(self, dotted: str) -> list[str]:
        """The modules whose path ends with a dotted name, and the packages."""
        return called_so(dotted, self.texts)

    def answer(self, kind: str, about: tuple[str, ...]) -> list[object]:  # noqa: ARG002
        """What a later run compares (see known_repository.py); nothing, as nobody will."""
        return []

    def with_text(self, path: str, text: bytes | None) -> Repository:
        """With another text of a file, or without the file."""
        texts = {each: known for each, known in self.texts.items() if each != path}
        if text is not None:
            texts[path] = text
        return Repository(dict(sorted(texts.items())), self.is_installable, WordIndex())


def where_it_stands(name: str, pattern: str, texts: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """The files, of those that are given with their texts, that `Repository.naming` speaks of."""
    word, search = name.encode(), None
    for path, text in texts:
        if word not in text:  # which is some twenty times quicker than to search for the pattern, or to compile it
            continue
        if search is None:
            search = re.compile(pattern.replace("%s", re.escape(name)).encode()).search
        if search(text):
            yield path


def called_so(dotted: str, paths: Iterable[str]) -> list[str]:
    """Those of the paths that `Repository.called` speaks of."""
    ends = os.sep + dotted.replace(".", os.sep)
    ways = (f"{ends}.py", os.path.join(ends, "__init__.py"))
    return [path for path in paths if path.endswith(ways)]


def read_repository(top: str, opened: Mapping[str, str]) -> Repository | None:
    """None where it is too large to be looked through, or cannot be read as a whole.

    `opened` are the texts of files as an editor has them, by absolute path.
    """
    texts: dict[str, bytes] = {}
    size = 0
    for number, path in enumerate(python_files(top)):
        if number >= MAX_FILES:
            return None
        try:
            text = read_regular(path)
        except OSError:
            return None
        if path in opened:
            text = opened[path].encode(errors="replace")
        size += len(text)
        if size > MAX_SIZE:
            return None
        texts[path] = text
    return Repository(dict(sorted(texts.items())), is_installable(top), WordIndex())


def is_installable(top: str) -> bool:
    return _holds_any(top, _PROJECT_FILES)


def python_files(top: str) -> Iterator[str]:
    """Those in a folder, links not followed; not those of others or made by tools, nor of another repository."""
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
    """A repository whose searches are made once; `note` is told each time what was asked and what was found."""

    def __init__(self, top: str, repository: Texts, note: Note | None) -> None:
        self._top = top
        self._repository = repository
        self._note = note
        self._found: dict[tuple[str, str, str], list[str]] = {}
        self._beside: dict[tuple[str, str, str], bool] = {}

    def invalidate(self, path: str, text: str | None) -> None:
        """A file in it has this text now; what is on the disk, if it is None."""
        if not path.endswith(".py") or not path.startswith(os.path.join(self._top, "")):
            return
        try:
            data = read_regular(path) if text is None else text.encode(errors="replace")
        except OSError:
            self._repository = self._repository.with_text(path, None)
        else:
            self._repository = self._repository.with_text(path, data)
        self._found.clear()
        self._beside.clear()

    @property
    def is_installable(self) -> bool:
        """Whether others may use what it holds, who are not in sight."""
        self._tell("installable")
        return self._repository.is_installable

    def naming(self, name: str, pattern: str = r"%s(?<!\w%s)\b") -> list[str]:
        """The files in whose text a name stands so; `%s` in the pattern is the name."""
        key = ("naming", name, pattern)
        if key not in self._found:
            self._found[key] = self._repository.naming(name, pattern)
        self._tell(*key)
        return self._found[key]

    def names_beside(self, path: str, name: str, pattern: str) -> bool:
        """Whether a name stands so in the text of any file but this one."""
        key = (path, name, pattern)
        if key not in self._beside:
            self._beside[key] = self._repository.names_beside(*key)
        self._tell("beside", *key)
        return self._beside[key]

    def called(self, dotted: str) -> list[str]:
        """The modules whose path ends with a dotted name, and the packages."""
        key = ("called", dotted, "")
        if key not in self._found:
            self._found[key] = self._repository.called(dotted)
        self._tell("called", dotted)
        return self._found[key]

    def _tell(self, kind: str, *about: str) -> None:
        if self._note is not None:
            self._note(kind, (self._top, *about), self._repository.answer(kind, about))


class Repositories:
    """Those that the files of a run are in, each read once.

    `read` reads the one with some top, or gives None as `read_repository` does; `note` is told what was asked of the
    disk, where somebody records that.
    """

    def __init__(self, opened: Mapping[str, str], read: Read | None = None, note: Note | None = None) -> None:
        self._opened = opened
        self._read = read
        self._note = note
        self._tops: dict[str, str | None] = {}  # by folder
        self._known: dict[str, Searched | None] = {}
        self.were_asked = False  # while one file was looked at

    def around(self, folder: str) -> Searched | None:
        """The repository that an absolute folder is in, if it can be told and is not too large to be searched."""
        self.were_asked = True
        if folder not in self._tops:
            self._tops[folder] = top_of_repository(folder)
        top = self._tops[folder]
        if self._note is not None:
            self._note("top", (folder,), [top])
        if top is None:
            return None
        if top not in self._known:
            found = read_repository(top, self._opened) if self._read is None else self._read(top)
            self._known[top] = None if found is None else Searched(top, found, self._note)
        if self._known[top] is None and self._note is not None:
            self._note("unsearched", (top,), [])
        return self._known[top]

    def invalidate(self, filename: str) -> None:
        """A file has another text now."""
        for known in self._known.values():
            if known is not None:
                known.invalidate(filename, self._opened.get(filename))
