"""Finds the Python files that the paths of a command line stand for, and an error for each that leads nowhere."""

from __future__ import annotations

import os
import stat
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.boundary.foreign import ForeignFolders, is_foreign, lies_in_foreign
from tonumpy.boundary.paths import is_inside, real_path, root_of
from tonumpy.findings import SourceError
from tonumpy.frontends.disk import os_error, read
from tonumpy.globs import excludes
from tonumpy.text.prefilter import may_be_of_python
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.config import Configuration, Settings
    from tonumpy.frontends.git import Git, Listed

SUFFIXES = (".py", ".pyi", ".ipynb")
_NAMED_SUFFIXES = (*SUFFIXES, ".pyw", "")  # a script has none


class Found(NamedTuple):
    """`files` are sorted and each file is there once, whatever the order and the overlap of the arguments.

    `excluded` are those that were named and that `force_exclude` leaves out all the same. `leaves_out`: something that
    is in a folder is excluded, be it a folder.
    """

    files: list[str]
    errors: list[SourceError]
    warnings: list[str]
    excluded: list[str]
    leaves_out: bool = False

    def with_nothing_told(self) -> Found:
        """With a warning where there are no files: a run that checked nothing must not sound like one that found all in
        order. It is no error, as in ruff: a path that leads nowhere is one."""
        if self.files or self.errors or self.excluded:
            return self
        why = ", all of them are excluded" if self.leaves_out else ""
        return self._replace(warnings=[*self.warnings, f"no Python files found under the given paths{why}"])


def find_files(arguments: Iterable[str], configuration: Configuration, *, to_write: bool = False) -> Found:
    """A Python file that is named is taken (but see `force_exclude`); of a folder, what is not ignored or excluded, and
    nothing that lies in a folder of others (boundary/foreign.py).

    What is named and is not Python is an error: a run that passes it over in silence would say that it is in order.
    With `to_write`, repositories inside a repository, such as submodules and other work trees, are left out, with a
    warning: they are projects of their own, whose changes no commit of this one holds.
    """
    search = _Search(configuration, to_write=to_write)
    for argument in arguments:
        path = _plain(argument)
        if os.path.isdir(path):
            search.named_folder(path)
        elif os.path.lexists(path):
            search.named_file(path)
        else:
            search.errors.append(SourceError(path, "No such file or directory"))
    files = _each_once(search.files, search.links)
    return Found(files, search.errors, search.warnings, search.excluded, search.leaves_out)


class _Search:
    """The files found so far."""

    def __init__(self, configuration: Configuration, *, to_write: bool) -> None:
        self.configuration = configuration
        self.to_write = to_write
        self.foreign = ForeignFolders()
        self.top = os.curdir  # the folder that is searched, as it was named
        self.files: list[str] = []
        self.links: set[str] = set()  # those of the files that are links
        self.errors: list[SourceError] = []
        self.warnings: list[str] = []
        self.excluded: list[str] = []
        self.leaves_out = False

    @cached_property
    def git(self) -> Git:
        from tonumpy.frontends.git import Git  # only for folders: start-up

        return Git()

    def named_file(self, path: str) -> None:
        if is_kept_out(path, self.configuration.settings_in(os.path.dirname(path))):
            self.excluded.append(path)
        elif os.path.splitext(path)[1] in _NAMED_SUFFIXES or _names_python_first(path):
            unread = _why_unread(path)
            if unread is None:
                self._take(path, is_link=os.path.islink(path))
            else:
                self.errors.append(unread)
        else:
            self.errors.append(SourceError(path, "not checked: the suffix is neither that of Python nor of a notebook"))

    def named_folder(self, path: str) -> None:
        """And the repositories in it, and in these: however deep, they are no calls of one another."""
        if is_kept_out(path, self.configuration.settings_in(path)):
            self.leaves_out = True
            return
        self.top, self.foreign = path, ForeignFolders()
        folders = [path]
        for each in folders:
            folders += self._searched(each)

    def _searched(self, path: str) -> list[str]:
        """The repositories in the folder, which are still to be searched."""
        from tonumpy.frontends.git import GitError  # start-up

        listed = None
        try:
            listed = self.git.list_files(path, *(f"*{suffix}" for suffix in SUFFIXES))
        except GitError as error:
            rest = ", here and in what is searched after it" if self.git.is_slow else ""
            self.warnings.append(f"{path}: git's ignore rules are not applied{rest}: {error}")
        return self._walk(path) if listed is None else self._take_listed(path, listed)

    def _own(self, repositories: list[str]) -> list[str]:
        """Those of the repositories in a repository that are searched, too."""
        if not self.to_write:
            return repositories
        told = "a repository in this one: left as it is; to repair it, name it"
        self.warnings += [f"{path}: {told}" for path in repositories]
        return []

    def _take_listed(self, folder: str, listed: Listed) -> list[str]:
        repositories: list[str] = []
        is_in_place = partial(_is_in_place, real_path(folder).replace(os.sep, "/").rstrip("/"), {})
        for name in listed.repositories:
            path = _join(folder, name)
            if is_in_place(f"{name}/.git") and _is_repository(path) and not self._is_excluded(path):
                repositories.append(path)
        for name in listed.files:
            path = _join(folder, name)
            mode = _mode(path)  # git still lists a tracked file that was deleted, and a link to a folder like a file
            if mode and is_in_place(name) and not self._is_excluded(path):
                is_link = stat.S_ISLNK(mode)
                if not (os.path.isdir(path) if is_link else stat.S_ISDIR(mode)):
                    self._take(path, is_link=is_link)
        return self._own(repositories)

    def _walk(self, top: str) -> list[str]:
        folders, repositories = [top], list[str]()
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as scan:
                    entries = list(scan)
            except OSError as error:
                self.errors.append(os_error(folder, error))
                continue
            for entry in entries:
                path = _join(folder, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    if not is_foreign(path) and not self._is_excluded(path):
                        (repositories if _is_repository(path) else folders).append(path)
                elif entry.name.endswith(SUFFIXES) and _may_be_file(entry) and not self._is_excluded(path):
                    self._take(path, is_link=entry.is_symlink())
        return repositories

    def _take(self, path: str, *, is_link: bool) -> None:
        self.files.append(path)
        if is_link:
            self.links.add(path)

    def _is_of_others(self, path: str) -> bool:
        if self.foreign.lead_to(path, self.top):
            return True
        if not os.path.islink(path):
            return False
        real, top = real_path(path), real_path(self.top)
        if self.to_write and _leads_into_another_repository(path, real):
            return True
        return self.foreign.lead_to(real, top) if is_inside(real, top) else lies_in_foreign(real)

    def _is_excluded(self, path: str) -> bool:
        if self._is_of_others(path):
            return True
        is_excluded = excludes(self.configuration.settings_in(os.path.dirname(path)).exclude, path)
        self.leaves_out = self.leaves_out or is_excluded
        return is_excluded


def is_kept_out(path: str, settings: Settings) -> bool:
    """Whether what is named, be it by its name alone, is left out all the same."""
    return settings.force_exclude and is_left_out(path, settings)


def is_left_out(path: str, settings: Settings) -> bool:
    """Whether a path that nobody named would be left out."""
    return excludes(settings.exclude, path) or lies_in_foreign(path)


def _leads_into_another_repository(link: str, target: str) -> bool:
    """Into one that lies in that of the link; what lies outside is refused when it is to be written."""
    own, other = root_of(os.path.dirname(link)), root_of(os.path.dirname(target))
    return own is not None and other is not None and is_inside(other, own)


def _is_in_place(folder: str, known: dict[str, bool], name: str) -> bool:
    """Whether what git lists is in the folder itself: an index may hold any name, with `..` or through a link, and the
    author of a repository may have written it. A file that is a link by itself is another question."""
    if os.path.isabs(name):
        return False
    parent, unknown = name.rpartition("/")[0], list[str]()
    while parent and parent not in known:
        unknown.append(parent)
        parent = parent.rpartition("/")[0]
    is_so = known.get(parent, True)
    for each in reversed(unknown):  # from the top, so that each is looked at once however deep they are
        is_so = is_so and each.rpartition("/")[2] not in ("", os.curdir, os.pardir) and _is_no_link(f"{folder}/{each}")
        known[each] = is_so
    return is_so


def _is_no_link(path: str) -> bool:
    return not os.path.islink(path) if os.name != "nt" else real_path(path).replace(os.sep, "/") == path


def _is_repository(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".git"))


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """A regular file, or a link that leads to one or nowhere (reading it will say so), but no pipe and no folder."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not os.path.isdir(entry.path))


def _why_unread(path: str) -> SourceError | None:
    """Why a notebook is not checked: one of another language, or of a former format."""
    if not path.endswith(".ipynb"):
        return None
    try:
        data = read(path)
    except SourceError:
        return None  # reading it will say what is wrong
    if may_be_of_python(data):
        return None
    from tonumpy.text.notebooks import why_unread  # start-up: json

    return why_unread(data, path)


def _names_python_first(path: str) -> bool:
    """Whether the first line of a file, whatever its suffix, has Python run it. One that cannot be read may be one."""
    try:
        line = read_regular(path)[:1000].partition(b"\n")[0]
    except OSError:
        return True  # reading it will say what is wrong
    return line.startswith(b"#!") and b"python" in line


def _join(folder: str, name: str) -> str:
    return name if folder == os.curdir else os.path.join(folder, name)


def _plain(argument: str) -> str:
    """The argument as it is shown before its files: without `./` at the front or `/` at the end."""
    while argument.startswith("./"):
        argument = argument[2:].lstrip("/")
    return argument.rstrip("/") or ("/" if argument else os.curdir)


def _mode(path: str) -> int:
    """0 where there is nothing."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _each_once(paths: list[str], links: set[str]) -> list[str]:
    """Sorted, without a second path to the same file; a link gives way to the file itself."""

    @cache
    def identity(folder: str) -> tuple[int, int] | str:  # a real path would cost a look at each folder above it
        try:
            found = os.stat(folder or os.curdir)
        except OSError:
            return folder
        return found.st_dev, found.st_ino

    kept: dict[tuple[object, str], str] = {}
    for path in sorted(set(paths), key=lambda path: (path in links, path)):
        # a broken link stands for itself
        folder, name = os.path.split(real_path(path) if path in links and os.path.exists(path) else path)
        kept.setdefault((identity(folder), name), path)
    return sorted(kept.values())
