"""A kind of device -> torch has a device guard for it, as autograd and factories ask of the device of each tensor.

A build of torch for the CPU has guards for the CPU and for kinds without devices. The one of "meta" does nothing, and
serves the stand-in. Autograd starts a thread for each device that a guard counts, when it first goes backward: torch's
own function makes one for CUDA that counts one, in the place of one that counts none, and that of "lazy" counts none.
"""

from __future__ import annotations

import ctypes
import platform
import struct
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


# A table of functions of C++: two words before the first function, and no more than these after it.
_HEADER, _MOST_FUNCTIONS = 2, 40
_WORD = ctypes.sizeof(ctypes.c_void_p)
_MARK = b"\xf3\x0f\x1e\xfa"  # endbr64, which some compilers put first
_Count = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
_kept: list[object] = []  # torch's threads may ask as long as the process lives


def _gives_on_x86(number: int) -> bytes:
    return b"\xb8" + struct.pack("<i", number) + b"\xc3"  # mov eax, number; ret


def _gives_on_arm(number: int) -> bytes:
    return struct.pack("<II", 0x52800000 | number << 5, 0xD65F03C0)  # mov w0, number; ret


_GIVES = {
    "x86_64": _gives_on_x86,
    "amd64": _gives_on_x86,
    "aarch64": _gives_on_arm,
    "arm64": _gives_on_arm,
}


class NoGuardError(RuntimeError):
    """This build of torch cannot be given a device."""


def set_guards(patches: Patches, kind: str, count: int = 1) -> None:
    """Give the stand-in, and the kind of device that it stands for, guards until `patches` are restored.

    With a `count` above 1 autograd finds that many devices of the stand-in."""
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
    if count > 1:
        table[_KINDS["maia"]] = _counting(table[_KINDS["meta"]], count)


def _counting(guard: int, count: int) -> int:
    """The address of a guard like this one, which says that there are so many devices.

    It is an object without fields: only its table of functions is another. Which of these counts is known from the code
    itself, which is the first there that gives 1; the first of all gives the kind of device."""
    table = ctypes.c_void_p.from_address(guard).value or 0
    words = (ctypes.c_void_p * _MOST_FUNCTIONS).from_address(table - _HEADER * _WORD)
    codes = _GIVES.get(platform.machine().lower())
    if codes is None or not _begins(words[_HEADER], codes(_KINDS["meta"])):
        raise NoGuardError(f"torch {torch.__version__} cannot be given several stand-ins on this platform")
    place = next((at for at in range(_HEADER, 24 + _HEADER) if _begins(words[at], codes(1))), None)
    if place is None:
        raise NoGuardError(f"torch {torch.__version__} cannot be given several stand-ins: no guard counts them")
    copied = (ctypes.c_void_p * _MOST_FUNCTIONS)(*words)
    answer = _Count(lambda _: count)
    copied[place] = ctypes.cast(answer, ctypes.c_void_p).value
    made = (ctypes.c_void_p * 1)(ctypes.addressof(copied) + _HEADER * _WORD)
    _kept.append((answer, copied, made))
    return ctypes.addressof(made)


def _begins(address: int | None, code: bytes) -> bool:
    found = ctypes.string_at(address or 0, len(code) + len(_MARK)) if address else b""
    return found.removeprefix(_MARK).startswith(code)


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
