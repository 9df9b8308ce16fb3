"""Reads the commits, trees and files of a repository from git's objects, and from nothing else.

A repository's configuration names programs, and the author of the repository wrote it. So git never sees it: it is run
on a repository of our own that borrows the other's objects (git calls that an alternate). There are no remotes in it
from which git could fetch what is missing, no replacements, no hooks and no filters. Names of branches and tags are
looked up here, without git.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.boundary.output import write_own

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REVISION = re.compile(r"(?P<name>[^~^:]+)(?P<way>[~^][~^0-9]*)?")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/:\\]+@[^/:]+:")
_PROTOCOLS = "https:http:ssh:git:file"
_NAMES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_DEPTH = 5  # of names that stand for other names, as git has it
_TO_FETCH = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_SSL_CERT", "GIT_SSL_CAINFO")  # variables of the user's

# Name files of the user's, who may have good reason to keep them elsewhere; every other variable of git's goes.
_OF_THE_USER = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# The user's own settings are to run nothing in a stranger's folder, either.
_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")

FOLDER, LINK, SUBMODULE = "040000", "120000", "160000"


class RepositoryError(Exception):
    """A repository, a revision or an object that cannot be read; the text says why."""


class TreeEntry(NamedTuple):
    """One path of a commit, in bytes as git has it."""

    mode: str
    object_id: str
    path: bytes


def is_url(source: str) -> bool:
    return _URL.match(source) is not None


def is_repository(path: str) -> bool:
    return _git_folder(path) is not None


class Repository:
    """A repository of our own in an empty folder, with the objects of `source`."""

    def __init__(self, folder: str, source: str) -> None:
        self._folder = folder
        self._source = source
        self._own = None if is_url(source) else _git_folder(source)
        if self._own is None and not is_url(source):
            raise RepositoryError("is not a git repository" if os.path.isdir(source) else "there is no such folder")
        self._write()

    def _write(self) -> None:
        for name in ("objects/info", "refs", "info"):
            os.makedirs(os.path.join(self._folder, name))
        wide = self._own is not None and _has_wide_ids(self._own)
        _put(os.path.join(self._folder, "HEAD"), "ref: refs/heads/main\n")
        _put(os.path.join(self._folder, "config"), _WIDE if wide else _PLAIN)
        if self._own is not None:
            objects = os.path.join(_common_folder(self._own), "objects")
            _put(os.path.join(self._folder, "objects", "info", "alternates"), f"{objects}\n")

    def commit(self, revision: str | None) -> str:
        """The id of the commit that a revision names."""
        if self._own is None:
            return self._remote_commit(revision or "HEAD")
        match = _REVISION.fullmatch(revision or "HEAD")
        if match is None:
            raise RepositoryError(f"`{revision}` is not the name of a commit")
        start = _look_up(self._own, match["name"]) or match["name"]
        if re.fullmatch(r"[0-9a-f]{4,64}", start) is None:
            raise RepositoryError(f"there is no branch, tag or commit `{match['name']}`")
        found = self._ask("rev-parse", "--verify", "--end-of-options", f"{start}{match['way'] or ''}^{{commit}}")
        return found.decode().strip()

    def _remote_commit(self, revision: str) -> str:
        if _ID.fullmatch(revision):
            return revision
        if revision.startswith("-"):
            raise RepositoryError(f"`{revision}` is not the name of a commit")
        answer = self._ask("ls-remote", "--", self._source, protocols=_PROTOCOLS).decode(errors="replace")
        ids = {name: object_id for object_id, _, name in (line.partition("\t") for line in answer.splitlines())}
        for form in _NAMES:
            name = form.format(revision)
            if name in ids:
                return ids.get(f"{name}^{{}}", ids[name])  # what an annotated tag leads to
        raise RepositoryError(f"there is no branch or tag `{revision}`")

    def fetch(self, commit: str) -> None:
        """Bring over the commit without its history; nothing to do where the objects are on this machine."""
        if self._own is None:
            more = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
            self._ask("fetch", *more, "--", self._source, commit, protocols=_PROTOCOLS)

    def tree(self, commit: str) -> list[TreeEntry]:
        """All that a commit holds, folders too; RepositoryError for a path that could lead out of it."""
        listed = []
        for line in self._ask("ls-tree", "-r", "-t", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, _, object_id = about.decode().split(" ")
            if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/")):
                raise RepositoryError(f"a path that git would not check out: {os.fsdecode(path)}")
            listed.append(TreeEntry(mode, object_id, path))
        return listed

    def contents(self, entries: Sequence[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
        """Each file with its bytes, one at a time."""
        if not entries:
            return
        asked = os.path.join(self._folder, "asked")
        _put(asked, "".join(f"{entry.object_id}\n" for entry in entries))
        with open(asked, "rb") as stdin, self._start(("cat-file", "--batch", "--buffer"), stdin) as git:
            assert git.stdout is not None
            try:
                for entry in entries:
                    head = git.stdout.readline().split()
                    if len(head) != 3 or head[1] != b"blob":
                        path = os.fsdecode(entry.path)
                        raise RepositoryError(f"the object of {path} is missing or damaged: {entry.object_id}")
                    size = int(head[2])
                    data = git.stdout.read(size + 1)
                    if len(data) != size + 1:
                        raise RepositoryError(f"the object of {os.fsdecode(entry.path)} is damaged: {entry.object_id}")
                    yield entry, data[:-1]
            finally:
                git.kill()

    def write_index(self, commit: str, path: str) -> None:
        """The index of a work tree that holds the commit."""
        self._ask("read-tree", commit, index=path)

    def ask(self, *arguments: str, stdin: bytes = b"", index: str | None = None) -> bytes:
        return self._ask(*arguments, stdin=stdin, index=index)

    def attributes(self, lines: Iterable[bytes]) -> None:
        write_own(os.path.join(self._folder, "info", "attributes"), b"".join(lines))

    def _ask(self, *arguments: str, stdin: bytes = b"", index: str | None = None, protocols: str = "") -> bytes:
        try:
            done = subprocess.run(
                [_git(), *_OPTIONS, *arguments],
                cwd=self._folder,
                env=self._environment(index, protocols),
                input=stdin,
                capture_output=True,
            )
        except OSError as error:
            raise RepositoryError(f"git cannot be run: {error.strerror}") from error
        if done.returncode:
            lines = [line for line in os.fsdecode(done.stderr).splitlines() if line.strip()]
            reason = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "".join(lines[:1]))
            raise RepositoryError(reason or f"git {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def _start(self, arguments: Sequence[str], stdin: BinaryIO) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [_git(), *_OPTIONS, *arguments],
            cwd=self._folder,
            env=self._environment(None, ""),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _environment(self, index: str | None, protocols: str) -> dict[str, str]:
        own = {"GIT_DIR": self._folder, "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
        if index is not None:
            own["GIT_INDEX_FILE"] = index
        if protocols:
            own |= {name: os.environ[name] for name in _TO_FETCH if name in os.environ}
            own |= {"GIT_ALLOW_PROTOCOL": protocols, "GIT_ASKPASS": "true"}
        else:  # what the user has set is for fetching, and must not change what is read
            own |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return _environment() | own


_PLAIN = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_WIDE = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"


def _git() -> str:
    git = _program()
    if git is None:
        raise RepositoryError("git is not installed")
    return git


def _put(path: str, text: str) -> None:
    write_own(path, os.fsencode(text))


def _git_folder(path: str) -> str | None:
    """The folder in which a working or bare repository keeps HEAD; `.git` may be a file that names another folder."""
    for folder in (os.path.join(path, ".git"), path):
        if os.path.isfile(folder):
            named = _first_line(folder)
            if named is None or not named.startswith("gitdir: "):
                continue
            folder = os.path.normpath(os.path.join(path, named.removeprefix("gitdir: ")))
        if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(
            os.path.join(_common_folder(folder), "objects")
        ):
            return os.path.abspath(folder)
    return None


def _common_folder(folder: str) -> str:
    """The folder of the objects and the branches, which worktrees of one repository share."""
    named = _first_line(os.path.join(folder, "commondir"))
    return os.path.abspath(folder if named is None else os.path.join(folder, named))


def _look_up(folder: str, name: str) -> str | None:
    """The id that a branch, a tag or HEAD stands for."""
    if name == "@":
        name = "HEAD"
    packed = _packed(_common_folder(folder))
    for form in _NAMES:
        full = form.format(name)
        for _ in range(_DEPTH):
            if ".." in full or full.startswith("/"):
                break
            said = _first_line(os.path.join(folder, full)) or _first_line(os.path.join(_common_folder(folder), full))
            said = said or packed.get(full)
            if said is None:
                break
            if _ID.fullmatch(said):
                return said
            if not said.startswith("ref: "):
                break
            full = said.removeprefix("ref: ").strip()
    return None


def _packed(folder: str) -> dict[str, str]:
    try:
        with open(os.path.join(folder, "packed-refs"), encoding="utf-8", errors="surrogateescape") as stream:
            pairs = [line.rstrip("\n").split(" ", 1) for line in stream if line[:1] not in "#^"]
    except OSError:
        return {}
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def _has_wide_ids(folder: str) -> bool:
    """True if the ids are those of SHA-256."""
    found = _look_up(folder, "HEAD") or next(iter(_packed(_common_folder(folder)).values()), "")
    return len(found) == 64


def _first_line(path: str) -> str | None:
    """None where there is no such regular file: a pipe in its place would keep us for ever."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.readline(4096)).rstrip("\r\n")
    except OSError:
        return None


def _environment() -> dict[str, str]:
    """Our own environment without what tells git of a repository; nothing is fetched and no password is asked for."""
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_") or name in _OF_THE_USER
    }
    return kept | {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",  # none
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _program() -> str | None:
    """The full path of git. A relative entry of PATH would be looked up in the very folder that git is asked about."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
