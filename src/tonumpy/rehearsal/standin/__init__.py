"""Patches torch, for the length of a `with`, to behave as on a machine with accelerators of one kind.

Stand-in tensors are ordinary CPU tensors whose storages are marked with a pretended device (marks.py). Torch's
functions, as Python calls them, are wrapped and propagate the marks (operators.py); torch's C++ stays as it is. A lost
mark may lose a finding; it never ends the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tonumpy.rehearsal.events import Observer
from tonumpy.rehearsal.standin import (
    autograd,
    compilers,
    device_module,
    factories,
    marks,
    moving,
    operators,
    processes,
    reporting,
    streams,
)
from tonumpy.rehearsal.standin.gradients import Gradients
from tonumpy.rehearsal.standin.marks import STATE, Mark
from tonumpy.rehearsal.standin.mixing import Mixing
from tonumpy.rehearsal.standin.numpy_conversions import Conversions
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.pending_copies import Copies
from tonumpy.rehearsal.standin.reporting import Reports
from tonumpy.rehearsal.standin.tensors_as_values import Masks, Taken

__all__ = ["pretend"]

KINDS = ("cuda", "mps", "xpu", "npu")


@contextmanager
def pretend(device: str, observer: Observer, *, stop: bool = False, devices: int = 1) -> Iterator[Callable[[], None]]:
    """Let torch behave as with this number of such devices, and report each conversion to NumPy to `observer`.

    A refused conversion gives the array that the repaired code would give; with `stop` it raises as on real hardware.
    Yields a function that reports the events that only the end of a program decides, as the end of the `with` does.
    """
    if device not in KINDS:
        raise ValueError(f"there is no stand-in for {device!r}: it can be one of {', '.join(KINDS)}")
    reports = Reports(observer, stop=stop)
    mixing, copies, gradients = Mixing(reports), Copies(reports), Gradients(reports)

    def look(name: str, args: Any, tensors: list[Any], found: list[Mark]) -> None:
        mixing.look(name, args, tensors, found)
        copies.look(name, tensors, found)

    if device == "npu":
        torch.utils.rename_privateuse1_backend(device)  # for as long as the process lives: torch knows no way back
    STATE.begin(device, devices)
    with Patches() as patches:
        # The accelerator.
        for part in (reporting, marks, device_module):
            part.patch(patches)
        operators.patch(patches, look)
        factories.patch(patches, devices)
        moving.patch(patches)
        autograd.patch(patches, look)
        # What belongs to a device beside its tensors, and what is reported.
        told = (Taken(reports), gradients, Conversions(reports, gradients.note, copies), Masks(reports))
        for each in (compilers, processes, mixing, copies, streams, *told):
            each.patch(patches)
        yield gradients.flush
