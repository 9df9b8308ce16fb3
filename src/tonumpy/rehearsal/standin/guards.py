"""A kind of device -> torch has a device guard for it, as autograd and factories ask of the device of each tensor.

A build of torch for the CPU has guards for the CPU and for kinds without devices. The one of "meta" does nothing, and
serves the stand-in. Autograd starts a thread for each device that a guard counts, when it first goes backward: torch's
own function makes one for CUDA that counts one, in the place of one that counts none, and that of "lazy" counts none.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

# c10/core/DeviceType.h
_KINDS = {"cuda": 1, "maia": 8, "xpu": 12, "mps": 13, "meta": 14, "lazy": 17, "npu": 20}
_ALL_KINDS = 21
_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_WINDOWS_REGISTRY = (
    "?device_guard_impl_registry@impl@c10@@"
    "3V?$array@U?$atomic@PEBUDeviceGuardImplInterface@impl@c10@@@std@@$0BG@@std@@A"
)


class NoGuardError(RuntimeError):
    """This build of torch cannot be given a device."""


def set_guards(patches: Patches, kind: str) -> None:
    """Give the stand-in, and the kind of device that it stands for, guards until `patches` are restored."""
    table = registry()
    ensure = getattr(torch._C, "_ensureCUDADeviceGuardSet", None)
    if table is None or ensure is None or table[_KINDS["meta"]] is None:
        raise NoGuardError(f"torch {torch.__version__} cannot be given a stand-in for a device on this platform")
    _show_config_as_before(patches)
    for name in ("cuda", "maia", kind):
        _put_back_later(patches, table, _KINDS[name])
    if table[_KINDS["cuda"]] is None:
        table[_KINDS["cuda"]] = table[_KINDS["lazy"]]
    ensure()
    for name in ("maia", kind):
        if table[_KINDS[name]] is None:
            table[_KINDS[name]] = table[_KINDS["meta"]]


def _show_config_as_before(patches: Patches) -> None:
    """`torch.__config__.show()` asks each kind of device that has a guard for its version, and maia raises then."""
    shown = torch._C._show_config()
    patches.replace(torch._C, "_show_config", lambda: shown)


def _put_back_later(patches: Patches, table: Any, place: int) -> None:
    old = table[place]

    def undo() -> None:
        table[place] = old

    patches.on_exit(undo)


def registry() -> Any:
    """The table of guards of the c10 library that torch has loaded; None where it is not found."""
    folder = Path(torch.__file__).parent / "lib"
    names = {"win32": "c10.dll", "darwin": "libc10.dylib"}
    try:
        library = ctypes.CDLL(str(folder / names.get(sys.platform, "libc10.so")))
        symbol = _WINDOWS_REGISTRY if sys.platform == "win32" else _REGISTRY
        return (ctypes.c_void_p * _ALL_KINDS).in_dll(library, symbol)
    except (OSError, ValueError):
        return None
