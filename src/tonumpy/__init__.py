"""Find and repair conversions of PyTorch tensors to NumPy that can raise or give wrong data.

PYTEST_DONT_REWRITE: pytest rewrites the assertions of a package with a plugin, and warns if it is too late for that.
"""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"] and not getattr(sys.flags, "safe_path", False):  # started by `python -m tonumpy`
    del sys.path[0]  # the working folder, which may be a stranger's: import nothing from it

TYPE_CHECKING = False  # the name that type checkers know; importing typing would cost every start of the command
if TYPE_CHECKING:
    from tonumpy.api import Checked as Checked
    from tonumpy.api import check_paths as check_paths
    from tonumpy.api import check_source as check_source
    from tonumpy.api import fix_source as fix_source
    from tonumpy.config import ConfigError as ConfigError
    from tonumpy.findings import Edit as Edit
    from tonumpy.findings import Finding as Finding
    from tonumpy.findings import Fix as Fix
    from tonumpy.findings import Position as Position
    from tonumpy.findings import SourceError as SourceError

    __version__: str

_HOMES = {
    "Checked": "tonumpy.api",
    "ConfigError": "tonumpy.config",
    "check_paths": "tonumpy.api",
    "check_source": "tonumpy.api",
    "fix_source": "tonumpy.api",
    "Edit": "tonumpy.findings",
    "Finding": "tonumpy.findings",
    "Fix": "tonumpy.findings",
    "Position": "tonumpy.findings",
    "SourceError": "tonumpy.findings",
}

__all__ = [
    "Checked",
    "ConfigError",
    "Edit",
    "Finding",
    "Fix",
    "Position",
    "SourceError",
    "check_paths",
    "check_source",
    "fix_source",
]


if not TYPE_CHECKING:  # else a type checker would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                return version("tonumpy")
            except PackageNotFoundError:  # run from a checkout, not installed
                return "unknown"
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "__version__"])
