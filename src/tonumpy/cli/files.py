"""Finds the Python files for the paths of a command line, with an error for each path that does not exist."""

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
    """Find named Python files (but see `force_exclude`), and in named folders those that are not ignored, excluded or
    in a foreign folder (boundary/foreign.py).

    A named file that is not Python is an error: a run that skips it silently would seem to have checked it.
    With `to_write`, repositories inside a repository, such as submodules and other work trees, are left out, with a
    warning: they are projects of their own, and no commit of this one contains their changes.
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
    """The result of a search; in the end the files are sorted and unique, whatever the order and overlap of the paths.

    `excluded` are named files that `force_exclude` leaves out. `leaves_out`: some file or folder inside a folder was
    excluded.
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
        """Add a warning if there are no files: a run that checked nothing must not look like a clean one. As in ruff,
        that is no error; a path that does not exist is one."""
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
        # Rules take real paths; files keep the path that was named as a prefix.
        here = real_path(path)
        folders = [(path, here, IgnoreRules.above(here))]
        while folders:
            folders += self._walk(*folders.pop())

    def _walk(self, folder: str, here: str, rules: IgnoreRules) -> list[tuple[str, str, IgnoreRules]]:
        """Take the files of a folder, and return its subfolders, which are still to be searched."""
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
    """True if a path is left out even if it is named, because of `force_exclude`."""
    return settings.force_exclude and is_left_out(path, settings)


def is_left_out(path: str, settings: Settings) -> bool:
    """True if a path is left out unless it is named."""
    return excludes(settings.exclude, path) or lies_in_foreign(path)


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """True for a regular file, or a link to anything but a folder (reading a broken one gives the error)."""
    return entry.is_file(follow_symlinks=False) or (entry.is_symlink() and not os.path.isdir(entry.path))


def _refuse_other_languages(path: str) -> None:
    """Raise SourceError for a file that is not Python, and for a notebook of another language or an old format."""
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
    """True if the first line of a file is a `#!` for Python, or the file cannot be read."""
    try:
        line = read_regular(path)[:1000].partition(b"\n")[0]
    except OSError:
        return True  # reading it will say what is wrong
    return line.startswith(b"#!") and b"python" in line


def _join(folder: str, name: str) -> str:
    return name if folder == os.curdir else os.path.join(folder, name)


def _plain(argument: str) -> str:
    """The argument as a prefix of its files' paths: without `./` at the front and `/` at the end."""
    while argument.startswith("./"):
        argument = argument[2:].lstrip("/")
    return argument.rstrip("/") or ("/" if argument else os.curdir)


def _each_once(paths: list[str], links: set[str]) -> list[str]:
    """The paths sorted, one for each file; a link gives way to the file itself."""
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
    """The folder's device and inode number, equal for all paths to it; the path itself if it cannot be read."""
    try:
        found = os.stat(folder or os.curdir)
    except OSError:
        return folder
    return found.st_dev, found.st_ino
