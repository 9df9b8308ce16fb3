"""Seals bytes with this user's key, so that what somebody else has written is not taken for ours.

The key lies in the user's cache folder, outside every repository. Somebody who can read it
needs no forged cache any more.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tonumpy.boundary.output import open_new
from tonumpy.engine.names.lookups import blake2b
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = 32  # bytes, of the key and of a seal


class Seal:
    """With one key; `mark` closes what was sealed off from all that is sealed for another purpose."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def closed(self, content: bytes, mark: bytes) -> bytes:
        return self._of(content, mark) + content

    def opened(self, data: bytes, mark: bytes) -> bytes | None:
        """The content; None where the seal is not ours, or is broken."""
        seal, content = data[:_SIZE], data[_SIZE:]
        # Digests under the key are compared, so that how long that takes tells nothing of the seal that is due.
        return content if self._of(seal, b"") == self._of(self._of(content, mark), b"") else None

    def _of(self, content: bytes, mark: bytes) -> bytes:
        digest = blake2b()(key=self._key, digest_size=_SIZE)
        digest.update(b"%d:%s" % (len(mark), mark))
        digest.update(content)
        return digest.digest()


def own_seal(environment: Mapping[str, str] = os.environ) -> Seal | None:
    """This user's, made now if there is none yet; None where there is no folder to keep a key in."""
    folder = _folder_of_user(environment)
    if folder is None:
        return None
    path = os.path.join(folder, "key")
    with suppress(OSError):
        return _read(path) or _make(folder, path)
    return None


def _read(path: str) -> Seal | None:
    try:
        key = read_regular(path, _SIZE)
    except FileNotFoundError:
        return None
    return Seal(key) if len(key) == _SIZE else None


def _make(folder: str, path: str) -> Seal | None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.urandom(8).hex()}"
    descriptor = open_new(temporary, 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(os.urandom(_SIZE))
        with suppress(FileExistsError):  # another run was first
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
    return _read(path)


def _folder_of_user(environment: Mapping[str, str]) -> str | None:
    """An absolute one only: another would be looked for in the folder that is checked."""
    own = os.path.expanduser(os.path.join("~", ".cache"))
    found = (environment.get("XDG_CACHE_HOME"), environment.get("LOCALAPPDATA") if os.name == "nt" else None, own)
    return next((os.path.join(each, "tonumpy") for each in found if each and os.path.isabs(each)), None)
