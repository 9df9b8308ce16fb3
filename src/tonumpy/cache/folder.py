"""The folder in which findings are kept, made or taken over only where it is one of ours.

The author of a repository may have put something else there: a link to a folder of the user's, or files. No link is
followed, no file is written but those of ours, and `clean` removes nothing else.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from tonumpy.boundary.output import write_own
from tonumpy.boundary.paths import private_folder, real_path
from tonumpy.text.reading import read_regular

TAG = "CACHEDIR.TAG"
_TAG_TEXT = b"""\
Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by tonumpy: what is in this folder may be removed at any time.
# For information about cache directory tags see https://bford.info/cachedir/
"""
_IGNORE = ".gitignore"
_IGNORE_TEXT = b"# Created by tonumpy\n*\n"
_OWN_FILE = re.compile(r"[0-9a-f]{32}|\.tonumpy-[0-9a-f]{16}\.part")  # of findings, or one being written
_OWN_FOLDER = re.compile(r"[0-9a-f]{16}")  # of one version of the tool
_KEPT = 4  # versions


class NotOursError(Exception):
    """There is something at the path that is no cache of this tool; the text says what."""


class CacheFolder:
    """The files of one version of the tool, each by a name of 32 digits. Whatever goes wrong, nothing is there."""

    def __init__(self, path: str, version: str) -> None:
        """NotOursError where there is something else at the path."""
        self.path = path
        self._folder = os.path.join(path, version)
        look_at(path)
        self._is_made = _is_real_folder(self._folder)
        self._is_broken = os.path.lexists(self._folder) and not self._is_made

    def read(self, name: str) -> bytes | None:
        if not self._is_made:
            return None
        path = os.path.join(self._folder, name)
        try:
            return None if os.path.islink(path) else read_regular(path)
        except OSError:
            return None

    def write(self, name: str, data: bytes) -> bool:
        """In one step, so that nobody reads a part."""
        try:
            if self._is_broken or not self._make():
                return False
            write_own(os.path.join(self._folder, name), data)
        except OSError:
            return False
        return True

    def _make(self) -> bool:
        if self._is_made:
            return True
        if not os.path.isdir(self.path):
            os.makedirs(self.path)
        for name, text in ((_IGNORE, _IGNORE_TEXT), (TAG, _TAG_TEXT)):
            path = os.path.join(self.path, name)
            if not os.path.lexists(path):
                write_own(path, text)
        self._forget_versions()
        os.mkdir(self._folder)
        self._is_made = _is_real_folder(self._folder)
        return self._is_made

    def _forget_versions(self) -> None:
        """All but the last few that were made."""
        folders = [each.path for each in os.scandir(self.path) if _OWN_FOLDER.fullmatch(each.name)]
        for folder in sorted(filter(_is_real_folder, folders), key=os.path.getmtime)[: -_KEPT + 1]:
            _remove_files(folder)


def look_at(path: str) -> bool:
    """Whether there is a cache at the path; NotOursError where there is something else."""
    private = private_folder(real_path(path))
    if private is not None:
        raise NotOursError(f"is in {private}, which belongs to version control")
    if not os.path.lexists(path):
        return False
    if not _is_real_folder(path):
        raise NotOursError("is no folder")
    try:
        if not os.listdir(path):
            return True
        if read_regular(os.path.join(path, TAG), 10_000) == _TAG_TEXT:
            return True
    except OSError:
        pass
    raise NotOursError(f"is a folder that tonumpy did not make: it has no {TAG} of tonumpy's")


def clean(path: str) -> bool:
    """Remove what is ours, if there is a cache. NotOursError where there is something else at the path."""
    if not look_at(path):
        return False
    with os.scandir(path) as scan:
        folders = [each.path for each in scan if _OWN_FOLDER.fullmatch(each.name)]
    for folder in folders:
        if _is_real_folder(folder):
            _remove_files(folder)
    _remove_own(path)
    for name in (_IGNORE, TAG):
        with suppress(OSError):
            os.unlink(os.path.join(path, name))
    with suppress(OSError):  # there is something of somebody else's in it
        os.rmdir(path)
    return True


def _remove_files(folder: str) -> None:
    _remove_own(folder)
    with suppress(OSError):
        os.rmdir(folder)


def _remove_own(folder: str) -> None:
    for name in os.listdir(folder):
        if _OWN_FILE.fullmatch(name):
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))


def _is_real_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
