"""The devices that the proof at run time speaks of, and why one of them cannot be had on this machine."""

from __future__ import annotations

import accelerator
import torch

DEVICES = ("cpu", accelerator.DEVICE, "cuda")


def _missing_accelerator() -> str | None:
    if torch.cuda.is_available():  # going backward on it fails in a process that has another accelerator as well
        return "torch has CUDA, and takes one accelerator in a process"
    try:
        accelerator.register()
    except accelerator.NoToolchainError as error:
        return f"the test accelerator cannot be built: {error}"
    return None


# Registered on import, before any test runs: autograd counts the devices of a process when it first goes backward.
_MISSING_ACCELERATOR = _missing_accelerator()


def unavailable(device: str) -> str | None:
    """The reason why there is no such device here; None where there is one."""
    if device == "cuda":
        return None if torch.cuda.is_available() else "CUDA is not available"
    return _MISSING_ACCELERATOR if device == accelerator.DEVICE else None
