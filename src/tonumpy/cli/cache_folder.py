"""Opens the database of this version of the tool in the cache folder, and removes all databases there."""

import argparse
import os
import sqlite3
import sys
from collections.abc import Iterator

from tonumpy.boundary.output import replace_file
from tonumpy.boundary.paths import private_folder
from tonumpy.cli import standard_streams
from tonumpy.cli.cli_arguments import configuration_of
from tonumpy.cli.result_cache import ResultCache
from tonumpy.config import ConfigError, Configuration
from tonumpy.engine.names.reads import digest_of
from tonumpy.text.reading import read_regular

_VARIABLE = "TONUMPY_CACHE_DIR"
_PARTS = (".py", ".json", ".toml")  # suffixes of the tool's own files
_SUFFIX = ".sqlite"
_KEPT = 4  # databases, one per version of the tool


def open_result_cache(given: str | None, configuration: Configuration, *, repairs: bool) -> ResultCache | None:
    """Open the cache in the folder `given` by the command line, or the usual one; None if it cannot be opened,
    ConfigError for a folder of version control."""
    folder = place_of_cache(given, configuration)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{identity()}-{_token()}{_SUFFIX}")
        if not os.path.exists(path):
            _forget_versions(folder)
        if os.path.islink(path):
            raise OSError("holds a link in place of a database")
        try:
            return ResultCache(path, repairs=repairs)
        except sqlite3.DatabaseError:  # spoilt
            os.unlink(path)
            return ResultCache(path, repairs=repairs)
    except (OSError, sqlite3.Error) as error:
        print(f"tonumpy: warning: {folder}: {error}, so no cache is kept", file=sys.stderr)
        return None


def _token() -> str:
    """A random text, kept in the user's cache folder, for the database's name: no repository can ship that file."""
    path = os.path.join(_users_folder(), "token")
    if not os.path.exists(path):
        os.makedirs(_users_folder(), mode=0o700, exist_ok=True)
        replace_file(path, os.urandom(16).hex().encode())
    return read_regular(path, 100).decode()


def place_of_cache(given: str | None, configuration: Configuration) -> str:
    """The user's cache folder, unless the user or the settings name another."""
    named = given or os.environ.get(_VARIABLE) or configuration.settings_in("").cache_dir
    if named:
        private = private_folder(named)
        if private is not None:
            raise ConfigError(f"{named}: is in {private}, which belongs to version control, so no cache is kept there")
        return named
    return _users_folder()


def _users_folder() -> str:
    if os.name == "nt":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "tonumpy", "cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/tonumpy")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tonumpy")


def clean_cache(arguments: argparse.Namespace) -> int:
    """Remove the databases and say so; ConfigError if that fails."""
    folder = place_of_cache(arguments.cache_dir, configuration_of(arguments))
    try:
        databases = list(_databases(folder))
        for path in databases:
            os.unlink(path)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}") from error
    told = f"Removed the cache in {folder}.\n" if databases else f"There is no cache in {folder}.\n"
    standard_streams.write("" if arguments.quiet else told, sys.stdout)
    return 0


def _databases(folder: str) -> Iterator[str]:
    if os.path.isdir(folder):
        with os.scandir(folder) as scan:
            yield from (each.path for each in scan if each.name.endswith((_SUFFIX, f"{_SUFFIX}-journal")))


def _forget_versions(folder: str) -> None:
    for path in sorted(_databases(folder), key=os.path.getmtime)[: -_KEPT + 1]:
        os.unlink(path)


def identity() -> str:
    """A digest of the Python version, the recursion limit and the tool's own files, on which findings depend."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = [f"{sys.version} {sys.implementation.cache_tag} {sys.getrecursionlimit()}".encode()]
    for folder, inner, names in os.walk(home):
        inner.sort()
        for name in sorted(names):
            if name.endswith(_PARTS):
                with open(os.path.join(folder, name), "rb") as stream:
                    parts += [os.fsencode(name), stream.read()]
    return digest_of(parts)[:16]
