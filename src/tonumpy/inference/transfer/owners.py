"""From a library object to the device taint and the tensors that it passes on to what it holds or makes."""

from __future__ import annotations

from tonumpy.inference.lattice.values import DeviceTaint, Instance, LibraryObject, max_device_taint
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.knowledge.libraries.rows import Promise
    from tonumpy.inference.lattice.values import Value

# Words of `promise.device` by which a tensor is where its module is.
_WITH_ITS_OWNER = ("self", "both", "parameters")


def sent_with(promise: Promise, owner: Value | None) -> DeviceTaint:
    """Where a module has been sent is what it holds, and what it makes of what it is given; and where the tensors of a
    distribution have been sent is what it draws."""
    if not isinstance(owner, (Instance, LibraryObject)) or promise.device not in _WITH_ITS_OWNER:
        return DeviceTaint.NONE
    made = made_of(owner)
    return max(owner.device_taint, max_device_taint(made)) if made else owner.device_taint


def made_of(owner: Value | None) -> tuple[Value, ...]:
    """The tensors of a distribution, of which its own are made: `Normal(net(x), 1.0).mean`."""
    if not isinstance(owner, LibraryObject) or not owner.name.startswith("torch.distributions."):
        return ()
    return () if owner.arguments is None else owner.arguments.values()
