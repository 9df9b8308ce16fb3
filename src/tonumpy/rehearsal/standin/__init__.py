"""A device name -> a torch that behaves as with one such device, for the length of a `with`.

The tensors of the stand-in are torch's own, of torch's own type and device; their memory is the host's, and Python
functions under the device's dispatch key compute with it on the CPU. Autograd, autocast, views, hooks, serialization
and the checks before a conversion are therefore torch's own code.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from tonumpy.rehearsal.standin import (
    autocast,
    compilers,
    device_module,
    device_numbers,
    distributed,
    factories,
    guards,
    moves,
    pauses,
    registration,
    sending,
    several,
    sparse,
    storages,
    torchscript,
    warning_places,
    words,
)
from tonumpy.rehearsal.standin.conversions import Conversions
from tonumpy.rehearsal.standin.copies import Copies
from tonumpy.rehearsal.standin.gradients import Gradients
from tonumpy.rehearsal.standin.handlers import Handlers
from tonumpy.rehearsal.standin.masks import Masks
from tonumpy.rehearsal.standin.mixing import Mixing
from tonumpy.rehearsal.standin.names import Names
from tonumpy.rehearsal.standin.origins import Origins
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.stacks import Stacks
from tonumpy.rehearsal.standin.taken import Taken
from tonumpy.rehearsal.standin.visible import Visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tonumpy.rehearsal.events import Observer

__all__ = ["pretend"]

# The dispatch keys of the kinds of devices.
_KEYS = {"cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "npu": "PrivateUse1"}


@contextmanager
def pretend(device: str, observer: Observer, *, stop: bool = False, devices: int = 1) -> Iterator[Callable[[], None]]:
    """Let torch behave as with `devices` of this name, and tell `observer` of each conversion to NumPy.

    A refused conversion gives the array that the repaired code would give; with `stop` it raises as on real hardware.
    What is yielded tells of what only the end of a program decides; the end of the `with` does so, too.
    """
    if device not in _KEYS:
        raise ValueError(f"there is no stand-in for {device!r}: it can be one of {', '.join(_KEYS)}")
    patches, stacks, handlers, origins = Patches(), Stacks(), Handlers(), Origins()
    try:
        if device == "npu":
            torch.utils.rename_privateuse1_backend(device)  # for as long as the process lives: torch knows no way back
        guards.set_guards(patches, device, devices)
        names = Names(device, devices)
        warning_places.patch(patches)
        shown = Visible(names)
        shown.guard()
        origins.patch(patches)
        names.patch(patches, origins)
        names.patch_types(patches)
        moves.patch(patches, origins)
        storages.patch(patches, names)
        autocast.patch(patches, device)
        device_module.patch(patches, names)
        shown.patch(patches)
        sending.patch(patches)
        distributed.patch(patches)
        pinned = factories.patch(patches, names, origins)
        device_numbers.patch(patches, names)
        compilers.patch(patches, names)
        several.patch(patches, names)
        words.patch(patches, names)
        torchscript.patch(patches, names.kind, names.inner)
        sparse.patch(patches, names.outer, names.inner)
        mixing = Mixing(observer, stacks, names, handlers, origins, stop=stop)
        mixing.patch(patches)
        copies = Copies(observer, stacks)
        copies.patch(patches, pinned)
        pauses.patch(patches)
        Taken(observer, stacks).patch(patches)
        with warnings.catch_warnings():  # a build for CUDA says that it has kernels of its own
            warnings.simplefilter("ignore")
            registration.register(patches, _KEYS[device], names, mixing.refuse, copies)
        gradients = Gradients(observer, stacks)
        gradients.patch(patches)
        Conversions(observer, stacks, names, gradients.note, handlers, copies, stop=stop).patch(patches)
        Masks(observer, stacks).patch(patches)

        def flush() -> None:
            gradients.flush()
            copies.flush()

        yield flush
    finally:
        patches.restore()
