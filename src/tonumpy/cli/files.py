"""Finds the Python files that the paths of a command line stand for, and an error for each that leads nowhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tonumpy.boundary.foreign import is_foreign, lies_in_foreign
from tonumpy.boundary.paths import real_path
from tonumpy.cli.disk import os_error, read
from tonumpy.findings import SourceError
from tonumpy.globs import excludes
from tonumpy.text.prefilter import may_be_of_python
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.cli.ignore_rules import IgnoreRules
    from tonumpy.config import Configuration, Settings

SUFFIXES = (".py", ".pyi", ".ipynb")
_NAMED_SUFFIXES = (*SUFFIXES, ".pyw", "")  # a script has none


def find_files(arguments: Iterable[str], configuration: Configuration, *, to_write: bool = False) -> Found:
    """A Python file that is named is taken (but see `force_exclude`); of a folder, what is not ignored or excluded, and
    nothing that lies in a folder of others (boundary/foreign.py).

    What is named and is not Python is an error: a run that passes it over in silence would say that it is in order.
    With `to_write`, repositories inside a repository, such as submodules and other work trees, are left out, with a
    warning: they are projects of their own, whose changes no commit of this one holds.
    """
    found = Found(configuration, to_write=to_write)
    for argument in arguments:
        path = _plain(argument)
        if os.path.isdir(path):
            found.named_folder(path)
        elif os.path.lexists(path):
            found.named_file(path)
        else:
            found.errors.append(SourceError(path, "No such file or directory"))
    found.files = _each_once(found.files, found.links)
    return found


class Found:
    """The files of a search, in the end sorted and each there once, whatever the order and the overlap of the paths.

    `excluded` are those that were named and that `force_exclude` leaves out all the same. `leaves_out`: something that
    is in a folder is excluded, be it a folder.
    """

    def __init__(self, configuration: Configuration, *, to_write: bool) -> None:
        self.configuration = configuration
        self.to_write = to_write
        self.files: list[str] = []
        self.links: set[str] = set()  # those of the files that are links
        self.errors: list[SourceError] = []
        self.warnings: list[str] = []
        self.excluded: list[str] = []
        self.leaves_out = False

    def with_nothing_told(self) -> Found:
        """Add a warning where there are no files: a run that checked nothing must not sound like one that found all in
        order. It is no error, as in ruff: a path that leads nowhere is one."""
        if not (self.files or self.errors or self.excluded):
            why = ", all of them are excluded" if self.leaves_out else ""
            self.warnings.append(f"no Python files found under the given paths{why}")
        return self

    def named_file(self, path: str) -> None:
        if is_kept_out(path, self.configuration.settings_in(os.path.dirname(path))):
            self.excluded.append(path)
            return
        try:
            _refuse_other_languages(path)
        except SourceError as error:
            self.errors.append(error)
        else:
            self._take(path, is_link=os.path.islink(path))

    def named_folder(self, path: str) -> None:
        from tonumpy.cli.ignore_rules import IgnoreRules  # only for folders: start-up

        if is_kept_out(path, self.configuration.settings_in(path)):
            self.leaves_out = True
            return
        # Rules take real paths; files keep the names that lead to them from what was named.
        here = real_path(path)
        folders = [(path, here, IgnoreRules.above(here))]
        while folders:
            folders += self._walk(*folders.pop())

    def _walk(self, folder: str, here: str, rules: IgnoreRules) -> list[tuple[str, str, IgnoreRules]]:
        """Take the files of a folder; its subfolders are still to be searched."""
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError as error:
            self.errors.append(os_error(folder, error))
            return []
        folders = []
        for entry in entries:
            path, place = _join(folder, entry.name), os.path.join(here, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (not is_foreign(path) if is_folder else entry.name.endswith(SUFFIXES) and _may_be_file(entry)):
                continue
            if rules.ignore(place, is_folder=is_folder) or self._is_excluded(path):
                continue
            if not is_folder:
                self._take(path, is_link=entry.is_symlink())
            elif self.to_write and os.path.exists(os.path.join(path, ".git")):
                self.warnings.append(f"{path}: a repository in this one: left as it is; to repair it, name it")
            else:
                folders.append((path, place, rules.inside(place)))
        return folders

    def _take(self, path: str, *, is_link: bool) -> None:
        self.files.append(path)
        if is_link:
            self.links.add(path)

    def _is_excluded(self, path: str) -> bool:
        if os.path.islink(path) and lies_in_foreign(path):
            return True
        is_excluded = excludes(self.configuration.settings_in(os.path.dirname(path)).exclude, path)
        self.leaves_out = self.leaves_out or is_excluded
        return is_excluded


def is_kept_out(path: str, settings: Settings) -> bool:
    """True if what is named, be it by its name alone, is left out all the same."""
    return settings.force_exclude and is_left_out(path, settings)


def is_left_out(path: str, settings: Settings) -> bool:
    """True if a path that nobody named would be left out."""
    return excludes(settings.exclude, path) or lies_in_foreign(path)


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """A regular file, or a link that leads to one or nowhere (reading it will say so), but no pipe and no folder."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not os.path.isdir(entry.path))


def _refuse_other_languages(path: str) -> None:
    """SourceError for a file that is not of Python, and for a notebook of another language or of a former format."""
    if os.path.splitext(path)[1] not in _NAMED_SUFFIXES and not _names_python_first(path):
        raise SourceError(path, "not checked: the suffix is neither that of Python nor of a notebook")
    if path.endswith(".ipynb"):
        try:
            data = read(path)
        except SourceError:
            return  # reading it again will say what is wrong
        if not may_be_of_python(data):
            from tonumpy.text.notebooks import Notebook  # start-up: json

            Notebook(data, path)


def _names_python_first(path: str) -> bool:
    """True if the first line of a file, whatever its suffix, has Python run it. One that cannot be read may be one."""
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


def _each_once(paths: list[str], links: set[str]) -> list[str]:
    """Sorted, without a second path to the same file; a link gives way to the file itself."""
    identities: dict[str, object] = {}
    kept: dict[tuple[object, str], str] = {}
    for path in sorted(set(paths), key=lambda path: (path in links, path)):
        # a broken link stands for itself
        folder, name = os.path.split(real_path(path) if path in links and os.path.exists(path) else path)
        if folder not in identities:
            identities[folder] = _identity(folder)
        kept.setdefault((identities[folder], name), path)
    return sorted(kept.values())


def _identity(folder: str) -> object:
    """The folder's device and number, the same for two paths that lead to it."""
    try:
        found = os.stat(folder or os.curdir)
    except OSError:
        return folder
    return found.st_dev, found.st_ino
