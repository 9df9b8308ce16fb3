"""Reads the commits, trees and files of a repository from git's objects, and from nothing else.

A repository's configuration, written by its author, may name programs. So git works in a bare repository of our own
that borrows the other's objects (an alternate): it has no remotes from which git could fetch missing objects, no
replacements, no hooks and no filters. In the other repository, git only resolves names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from tonumpy.boundary.output import replace_file

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/:\\]+@[^/:]+:")
_NAMES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
# The user's own settings must not run anything in a stranger's folder, either.
_OPTIONS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_ATTRIBUTES = b"* -text -ident -working-tree-encoding\n"  # check files out byte for byte

# The user's variables that concern fetching; all others of git are removed.
_TO_FETCH = (
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_SSL_CERT", "GIT_SSL_CAINFO"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
_FETCHING = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_ASKPASS": "true", "GIT_TERMINAL_PROMPT": "0"}
_READING = {
    "GIT_ALLOW_PROTOCOL": "",  # none
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


LINK, SUBMODULE = b"120000", b"160000"


class RepositoryError(Exception):
    """A repository, a revision or an object cannot be read; the text says why."""


def is_url(source: str) -> bool:
    return _URL.match(source) is not None


def is_repository(path: str) -> bool:
    """True if the folder is a work tree or a bare repository."""
    return os.path.exists(os.path.join(path, ".git")) or (
        os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))
    )


class Repository:
    """A bare repository of our own, created in an empty or missing folder, with the objects of `source`."""

    def __init__(self, folder: str, source: str) -> None:
        self._folder = folder
        self._source = source
        self._git_folder: str | None = None  # of a source on this machine
        form, objects = "sha1", None
        if not is_url(source):
            if not is_repository(source):
                raise RepositoryError("is not a git repository" if os.path.isdir(source) else "there is no such folder")
            inner = os.path.join(source, ".git")
            self._git_folder = inner if os.path.exists(inner) else source
            asked = ("rev-parse", "--show-object-format", "--path-format=absolute", "--git-path", "objects")
            form, objects = os.fsdecode(_git(asked, {"GIT_DIR": self._git_folder} | _READING)).splitlines()
        os.makedirs(folder, exist_ok=True)
        self.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}")
        os.makedirs(os.path.join(folder, "info"), exist_ok=True)
        self.write_attributes(b"")
        if objects is not None:
            replace_file(os.path.join(folder, "objects", "info", "alternates"), os.fsencode(f"{objects}\n"))

    def write_attributes(self, more: bytes) -> None:
        """Set the attributes that override those in the files of a commit."""
        replace_file(os.path.join(self._folder, "info", "attributes"), _ATTRIBUTES + more)

    def commit(self, revision: str | None) -> str:
        """The id of the commit that a revision names."""
        revision = revision or "HEAD"
        if self._git_folder is None:
            return self._remote_commit(revision)
        asked = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        try:
            return _git(asked, {"GIT_DIR": self._git_folder} | _READING).decode().strip()
        except RepositoryError as error:
            raise RepositoryError(f"there is no branch, tag or commit `{revision}`") from error

    def _remote_commit(self, revision: str) -> str:
        if _ID.fullmatch(revision):
            return revision
        answer = self._fetching("ls-remote", "--", self._source).decode(errors="replace")
        ids = {name: object_id for object_id, _, name in (line.partition("\t") for line in answer.splitlines())}
        for form in _NAMES:
            name = form.format(revision)
            if name in ids:
                return ids.get(f"{name}^{{}}", ids[name])  # the commit of an annotated tag
        raise RepositoryError(f"there is no branch or tag `{revision}`")

    def fetch(self, commit: str) -> None:
        """Fetch the commit without its history; does nothing for a source on this machine: its objects are borrowed."""
        if self._git_folder is None:
            more = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
            self._fetching("fetch", *more, "--", self._source, commit)

    def _fetching(self, *arguments: str) -> bytes:
        own = {name: os.environ[name] for name in _TO_FETCH if name in os.environ}
        return _git(arguments, {"GIT_DIR": self._folder} | own | _FETCHING)

    def modes(self) -> dict[bytes, bytes]:
        """The mode of each file in the index, by its path."""
        lines = (line.partition(b"\t") for line in self.run("ls-files", "-z", "--stage").split(b"\0")[:-1])
        return {path: about.partition(b" ")[0] for about, _, path in lines}

    def run(self, *arguments: str, stdin: bytes = b"", tree: str | None = None) -> bytes:
        """Run a git command and return its output; `tree` is the work tree of the index."""
        own = {"GIT_DIR": self._folder} | _READING
        return _git(arguments, own if tree is None else own | {"GIT_WORK_TREE": tree}, stdin, tree)


def _git(arguments: tuple[str, ...], own: dict[str, str], stdin: bytes = b"", folder: str | None = None) -> bytes:
    # A relative entry of PATH would be resolved in the repository's folder, and Windows searches that anyway.
    program = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, os.get_exec_path())))
    if program is None or not os.path.isabs(program):
        raise RepositoryError("git is not installed")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
    done = subprocess.run(
        [program, *_OPTIONS, *arguments],
        cwd=folder,
        env=kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"} | own,
        input=stdin,
        capture_output=True,
    )
    if done.returncode:
        lines = [line for line in os.fsdecode(done.stderr).splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith(("fatal: ", "error: "))), "".join(lines[:1]))
        raise RepositoryError(reason or f"git {arguments[0]} ended with {done.returncode}")
    return done.stdout
