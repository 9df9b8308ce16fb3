"""The device "toy" for a machine without an accelerator: backend.cpp compiled once, loaded, registered with torch."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from torch.utils import cpp_extension
from torch.utils.backend_registration import rename_privateuse1_backend

DEVICE = "toy"
_SOURCE = Path(__file__).with_name("backend.cpp")


class NoToolchainError(Exception):
    """There is no C++ compiler, or no ninja to drive it."""


@cache
def register() -> None:
    """Make `torch.device("toy")` work in this process."""
    _load(_library())
    rename_privateuse1_backend(DEVICE)
    torch._register_device_module(DEVICE, _device_module())


def _library() -> Path:
    """Where the compiled backend is kept from run to run: one file for each source, torch and Python ABI."""
    key = "\n".join((_SOURCE.read_text(), torch.__version__, str(sysconfig.get_config_var("SOABI"))))
    folder = Path(cpp_extension.get_default_build_root(), "tonumpy_tests")
    return folder / f"{DEVICE}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"


def _load(library: Path) -> None:
    if library.exists():
        torch.ops.load_library(library)
        return
    _require_toolchain()
    library.parent.mkdir(parents=True, exist_ok=True)
    # Compiled in a folder of its own and moved when complete: a killed run, or two at a time, do no harm.
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        cpp_extension.load(
            DEVICE,
            [str(_SOURCE)],
            extra_cflags=["-O0"],
            build_directory=scratch,
            with_cuda=False,
            is_python_module=False,
        )
        Path(scratch, f"{DEVICE}.so").replace(library)


def _require_toolchain() -> None:
    if sys.platform == "win32":
        raise NoToolchainError("it is built with a Unix toolchain only")
    # ninja may be installed beside the interpreter of an environment that is not activated.
    os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", ""), sysconfig.get_path("scripts")))
    for tool in (cpp_extension.get_cxx_compiler(), "ninja"):
        if shutil.which(tool) is None:
            raise NoToolchainError(f"`{tool}` is not installed")


def _device_module() -> ModuleType:
    """What torch asks of `torch.toy`."""
    module = ModuleType(f"torch.{DEVICE}")
    module.__dict__.update(
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        _is_in_bad_fork=lambda: False,
        manual_seed_all=lambda seed: None,  # noqa: ARG005
    )
    return module
