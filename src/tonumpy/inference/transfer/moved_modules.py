"""A module after `.cuda()`, `.to(...)`, `.half()` or `.requires_grad_(...)`, or what else moves like one.

`freeze()` and `unfreeze()` are those of lightning's modules; other classes have methods of these names that do less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.torch_words import CASTS
from tonumpy.engine.values.value_facts import dtype_of, members
from tonumpy.engine.values.values import Arguments, Constant, Device, DeviceTaint, Instance, LibraryObject, Tensor
from tonumpy.inference.transfer.devices import device_after_to, sent_there
from tonumpy.inference.transfer.torch_operators import grad_asked_for
from tonumpy.text.names import ACCELERATORS

if TYPE_CHECKING:
    from typing import TypeVar

    _Movable = TypeVar("_Movable", LibraryObject, Instance)


_REGRADES = {"freeze": False, "unfreeze": True}


def _cast(owner: _Movable, name: str, arguments: Arguments) -> _Movable:
    """A module after `.half()`, `.to(torch.bfloat16)` or `.to(dtype=...)`; what may be a dtype leaves it unknown."""
    if name in CASTS:
        return owner._replace(dtype=CASTS[name])
    if name != "to":
        return owner
    given = [value for value in (*arguments.positional[:2], arguments.named_value("dtype")) if value is not None]
    dtypes = [dtype for dtype in map(dtype_of, given) if dtype is not None]
    if dtypes:
        return owner._replace(dtype=dtypes[0])
    parts = [part for value in given for part in members(value)]
    is_device = all(isinstance(part, (Device, Constant)) for part in parts) and not arguments.has_star
    return owner if is_device else owner._replace(dtype=None)


def _sent_there(arguments: Arguments) -> DeviceTaint:
    given = arguments.get(0, "device")
    return DeviceTaint.CHOSEN if isinstance(given, Tensor) and given.device_taint else sent_there(given)


def moved(owner: _Movable, name: str, arguments: Arguments) -> _Movable:
    """A module (or what moves like one) after `.cuda()`, `.to(device)` or `.requires_grad_(False)`."""
    owner = _cast(owner, name, arguments)
    if name == "cpu":
        return owner._replace(on_cpu=True, device_taint=DeviceTaint.NONE)
    if name == "detach":
        return owner._replace(requires_grad=False)
    if name in ACCELERATORS:
        return owner._replace(on_cpu=False, device_taint=DeviceTaint.CHOSEN)
    if name == "to":
        on_cpu = device_after_to(owner.on_cpu, arguments)
        device_taint = (
            owner.device_taint if on_cpu is None else DeviceTaint.CHOSEN if on_cpu is False else DeviceTaint.NONE
        )
        return owner._replace(
            on_cpu=on_cpu, device_taint=max(device_taint, _sent_there(arguments)) if on_cpu is None else device_taint
        )
    if name == "requires_grad_":
        return owner._replace(requires_grad=grad_asked_for(arguments))
    if name in _REGRADES:
        return owner._replace(requires_grad=_REGRADES[name])
    return owner
