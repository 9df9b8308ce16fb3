"""Asks git which files of a folder are not ignored, without running any program of the repository's.

A repository's configuration names programs (a file system monitor, hooks, filters, the transport of a remote from which
missing objects are fetched), and the author of the repository wrote it. So git is never told of the repository: it is
given an empty one that ships with this package, the index and the exclude file of the real one, and the folder as
its work tree. What is left of the configuration is the user's own.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tonumpy.boundary.paths import root_of
from tonumpy.text.reading import read_regular

TIME_LIMIT = 60.0  # seconds; a big repository on a slow disk takes a few, and a pipe in place of a file for ever

_EMPTY = os.path.join(os.path.dirname(__file__), "empty_repository")
# Name files of the user's, who may have good reason to keep them elsewhere; every other variable of git's goes.
_OF_THE_USER = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# The user's own settings are to run nothing in a stranger's folder, either.
OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


class GitError(Exception):
    """git did not answer; the text says why, in git's own words where there are some."""


class _TooSlowError(GitError):
    """It was stopped."""


class Listed(NamedTuple):
    """Relative to the folder that was asked for: the files, tracked or not ignored, and the roots of repositories."""

    files: list[str]
    repositories: list[str]


class Git:
    """As one search asks it: once it was too slow it is asked no more, which would take as long for each folder."""

    def __init__(self) -> None:
        self.is_slow = False

    def list_files(self, folder: str, *patterns: str) -> Listed | None:
        """None where the folder is in no repository as well, or git is asked no more."""
        root = None if self.is_slow else root_of(folder)
        try:
            return None if root is None else _list_files(folder, root, *patterns)
        except _TooSlowError:
            self.is_slow = True
            raise


def _list_files(folder: str, root: str, *patterns: str) -> Listed | None:
    """What git lists of a folder in the repository at `root`; None where git is missing or ignores the folder itself.

    The patterns are those of file names. Repositories in the repository are listed, but not what is in them.
    """
    git = program()
    if git is None:
        return None
    repository = _Repository(root)
    exclude = repository.exclude_file
    more = () if exclude is None else ("-X", exclude)
    listed = _ask(git, repository, folder, "ls-files", "-co", "--exclude-standard", *more, "-z", "--", *patterns, "*/")
    if not listed and _is_ignored(git, repository, folder):
        return None
    inner = [name.rstrip("/") for name in listed if name.endswith("/")]
    if os.path.exists(os.path.join(root, ".gitmodules")):
        staged = _ask(git, repository, folder, "ls-files", "-s", "-z")
        inner += [line.partition("\t")[2] for line in staged if line.startswith("160000 ")]
    return Listed([name for name in listed if not name.endswith("/")], inner)


class _Repository:
    """Where a repository keeps its index and its exclude file: `.git` may be a file that names another folder."""

    def __init__(self, root: str) -> None:
        self.root = root
        own = self._named_by(os.path.join(root, ".git"), "gitdir: ") or os.path.join(root, ".git")
        shared = self._named_by(os.path.join(own, "commondir")) or own
        index = os.path.join(own, "index")
        exclude = os.path.join(shared, "info", "exclude")
        self.index = index if os.path.isfile(index) else os.path.join(_EMPTY, "index")
        self.exclude_file = exclude if os.path.isfile(exclude) else None

    @staticmethod
    def _named_by(path: str, before: str = "") -> str | None:
        """The folder that a small file names, if it does."""
        try:
            text = os.fsdecode(read_regular(path, 4096)).rstrip("\r\n")
        except OSError:
            return None
        if not text.startswith(before) or "\0" in text:
            return None
        return os.path.normpath(os.path.join(os.path.dirname(path), text.removeprefix(before)))


def _is_ignored(git: str, repository: _Repository, folder: str) -> bool:
    """Nothing at all may mean that git ignores this folder; a folder that is named is meant all the same."""
    if _ask(git, repository, folder, "check-ignore", "."):
        return True
    exclude = repository.exclude_file
    return exclude is not None and bool(
        _ask(git, repository, folder, "-c", f"core.excludesFile={exclude}", "check-ignore", ".")
    )


def _ask(git: str, repository: _Repository, folder: str, *arguments: str) -> list[str]:
    """The NUL-separated answer; nothing where git says no."""
    import subprocess

    try:
        done = subprocess.run(
            [git, *OPTIONS, *arguments],
            cwd=folder,
            env=_environment(repository),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise _TooSlowError(f"git took more than {TIME_LIMIT:g} seconds") from error
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from error
    if done.returncode not in (0, 1):
        raise GitError(os.fsdecode(done.stderr).strip().partition("\n")[0] or f"git ended with {done.returncode}")
    return [name for name in os.fsdecode(done.stdout).split("\0") if name]


def _environment(repository: _Repository) -> dict[str, str]:
    return environment() | {
        "GIT_DIR": _EMPTY,
        "GIT_WORK_TREE": repository.root,
        "GIT_INDEX_FILE": repository.index,
        "GIT_OBJECT_DIRECTORY": os.path.join(_EMPTY, "refs"),
    }


def environment() -> dict[str, str]:
    """Ours, less all that tells git of a repository; nothing is fetched, and nobody is asked for a password."""
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_") or name in _OF_THE_USER
    }
    return kept | {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",  # none
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def program() -> str | None:
    """git's full path. A relative entry of PATH would be looked up in the very folder that git is asked about."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
