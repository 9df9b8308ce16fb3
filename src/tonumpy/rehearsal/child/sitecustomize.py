"""Starts the rehearsal in child processes: their PYTHONPATH names this folder, so Python imports this file at start-up.

It runs the `sitecustomize` that it shadows, if there is one, then waits until the process imports torch and begins
there. Nothing of tonumpy is imported before that.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys

# It lies beside this file, whose folder is still on the path.
from tonumpy_import_hook import WaitForImport  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tonumpy.rehearsal.following import Ending

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))  # where tonumpy can be imported from
_VARIABLE = "TONUMPY_REHEARSAL"  # as in tonumpy.rehearsal.following

sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
_OURS = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = _OURS  # Python asks for it when it has been imported


class Child:
    """The rehearsal of this child process: begins once torch is imported, and records why if it cannot."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folder = json.loads(text)[0]
        self._ending: Ending | None = None
        self._is_known = False
        atexit.register(self.end)  # before anything else, so that it is called last

    def begin(self) -> None:
        if self._is_known or not os.path.isdir(self._folder):
            return
        self._is_known = True
        is_lent = _ROOT not in sys.path and importlib.util.find_spec("tonumpy") is None
        if is_lent:
            sys.path.append(_ROOT)
        try:
            from tonumpy.rehearsal.following import Ending  # not before torch: start-up

            ending = Ending()
            ending.begin(self._text)
            self._ending = ending
        except Exception as error:  # another Python or torch: not the program's fault
            self._miss(f"{type(error).__name__}: {error}")
        finally:
            if is_lent:
                sys.path.remove(_ROOT)

    def end(self) -> None:
        """End the rehearsal; runs after the program's own `atexit` functions."""
        if self._ending is not None:
            self._ending.end()
        elif not self._is_known and hasattr(sys.modules.get("torch"), "Tensor") and os.path.isdir(self._folder):
            self._miss("torch was imported past the import system")

    def _miss(self, reason: str) -> None:
        """Write the reason in the format of tonumpy.rehearsal.spool, which may not be importable here."""
        told = json.dumps({"missed": [" ".join(sys.orig_argv), reason]})
        path = os.path.join(self._folder, f"events-{os.getpid()}-{os.urandom(4).hex()}.jsonl")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        os.write(descriptor, told.encode() + b"\n")
        os.close(descriptor)


if _VARIABLE in os.environ:
    sys.meta_path.insert(0, WaitForImport("torch", Child(os.environ[_VARIABLE]).begin))
