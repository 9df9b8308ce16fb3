"""Removes folders of our own that a stranger's repository was laid out in."""

from __future__ import annotations

import contextlib
import os


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, as far as that can be done.

    A repository may hold so many folders in one another that neither recursion nor a path reaches the last of them. So
    each is moved up next to the first one, and emptied there.
    """
    queue, count = ([] if os.path.islink(folder) else [folder]), 0
    while queue:
        here = queue.pop()
        for entry in _entries(here):
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                elif here == folder:
                    queue.append(entry.path)
                else:
                    count += 1
                    moved = os.path.join(folder, f".moved-{count}")
                    os.rename(entry.path, moved)
                    queue.append(moved)
        if here != folder:
            with contextlib.suppress(OSError):
                os.rmdir(here)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except OSError:
        return []
