"""A device name -> a torch that behaves as with one such device, for the length of a `with`.

The tensors of the stand-in are torch's own, of torch's own type and device; their memory is the host's, and Python
functions under the device's dispatch key compute with it on the CPU. Autograd, autocast, views, hooks, serialization
and the checks before a conversion are therefore torch's own code.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tonumpy.rehearsal.standin import autocast, cuda_module, guards, registration, storages
from tonumpy.rehearsal.standin.conversions import Conversions
from tonumpy.rehearsal.standin.mixing import Mixing
from tonumpy.rehearsal.standin.names import Names
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.stacks import Stacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.rehearsal.events import Observer

__all__ = ["pretend"]


@contextmanager
def pretend(device: str, observer: Observer, *, stop: bool = False) -> Iterator[None]:
    """Let torch behave as with one device of this name, and tell `observer` of each conversion to NumPy.

    A refused conversion gives the array that the repaired code would give; with `stop` it raises as on real hardware.
    """
    if device != "cuda":
        raise ValueError(f"no stand-in for {device!r}")
    patches, stacks = Patches(), Stacks()
    try:
        guards.set_guards(patches, device)
        names = Names(device)
        names.patch(patches)
        storages.patch(patches, names)
        autocast.patch(patches, device)
        cuda_module.patch(patches)
        registration.register(patches, device.upper(), Mixing(observer, stacks, stop=stop).refuse)
        Conversions(observer, stacks, names, stop=stop).patch(patches)
        yield
    finally:
        patches.restore()
