"""Reports the conversions that cut the gradient of a loss, at `backward()` on a loss from which nothing learns.

The graph of such a loss leads to no parameter, and to no other leaf whose gradient is ever read. Reported are the
conversions of detached tensors to NumPy or to a number whose result, as the text shows, came back into this loss.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from itertools import islice
from types import CodeType
from typing import Any

import torch

from tonumpy.rehearsal.events import Call, Event
from tonumpy.rehearsal.frames import is_own, outward
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import Reports, guarded

Stack = tuple[Call, ...]

Tensor = torch.Tensor
_OF_TORCH = os.path.join(os.path.dirname(torch.__file__), "")
_MOST = 500  # places kept of each kind
_MOST_NODES = 5_000  # of a graph
_detach = torch._C.TensorBase.detach
_NOT_TOLD = "Tensor.backward: lost gradients are not told of"
_CUTS = ("detach", "detach_")
_NUMBERS = ("item", "tolist")  # they drop the history of a tensor silently


class Gradients:
    """Records where autograd histories end, and checks each loss."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._cuts: dict[Stack, None] = {}
        self._conversions: dict[Stack, Event] = {}  # of tensors without a history
        self._numbers: dict[Stack, Event] = {}
        self._seen: dict[tuple[int, ...], list[CodeType]] = {}  # the codes live, so each keeps its identity
        self._told: set[Stack] = set()
        # By the id of a leaf: the leaf, and the events to report unless its gradient is read.
        self._waiting: dict[int, tuple[weakref.ref[Any], dict[Stack, Event]]] = {}
        self._watch_grads: Callable[[], None] = lambda: None

    def patch(self, patches: Patches) -> None:
        """Patch the methods that end a history, and `backward`."""
        self._watch_grads = patches.later(self._patch_grads)
        for names, note in ((_CUTS, self._note_cut), (_NUMBERS, self._note_number)):
            for name in names:
                patches.replace(Tensor, name, _cutting(getattr(Tensor, name), note))
        # `float` of a tensor with a history would warn, at this line; NumPy calls it after `__array__` was refused.
        to_float, data = Tensor.__float__, torch._C.TensorBase.data
        patches.replace(Tensor, "__float__", _cutting(lambda tensor: to_float(_detach(tensor)), self._note_number))
        patches.replace(Tensor, "data", property(_cutting(data.__get__, self._note_cut), data.__set__))
        patches.around(Tensor, "backward", self._backward)
        patches.callback(self.flush)

    def _backward(self, backward: Any, loss: Any, gradient: Any = None, *args: Any, **kwargs: Any) -> Any:
        if self._cuts or self._numbers:
            with guarded(_NOT_TOLD):
                self._look_at(loss, gradient)
        return backward(loss, gradient, *args, **kwargs)

    def note(self, happened: Event) -> None:
        """Record a conversion that was not refused."""
        if self._cuts and not happened.requires_grad and len(self._conversions) < _MOST:
            self._conversions[happened.stack] = happened

    def flush(self) -> None:
        """Report the losses whose leaves' gradients were never read."""
        for _, found in list(self._waiting.values()):
            self._tell(found)
        self._waiting.clear()

    def _is_new(self) -> bool:
        """True at the first call from these nearest six frames: most calls repeat."""
        codes: list[CodeType] = []
        place: list[int] = []
        for frame in islice(outward(sys._getframe(3)), 6):
            codes.append(frame.f_code)
            place += id(frame.f_code), frame.f_lasti
        return self._seen.setdefault(tuple(place), codes) is codes

    def _note_cut(self, tensor: Any) -> None:
        del tensor
        if len(self._cuts) < _MOST and self._is_new():
            self._cuts[_own(self._reports.stack())] = None

    def _note_number(self, tensor: Any) -> None:
        if len(self._numbers) < _MOST and self._is_new():
            happened = self._reports.event(tensor, "lost gradient")
            self._numbers[_own(happened.stack)] = happened

    def _look_at(self, loss: Any, gradient: Any) -> None:
        leaves = _leaves(loss)
        if leaves is None or (leaves[0] is loss and gradient is not None):
            return
        found = self._blamed(_own(self._reports.stack()))
        if not found:
            return
        if not loss.requires_grad or leaves[0] is loss:  # `backward` raises, or the only gradient is 1
            self._tell(found)
            return
        self._watch_grads()
        for key, (leaf, told) in list(self._waiting.items()):
            if leaf() is None:  # freed, so its gradient was never read
                del self._waiting[key]
                self._tell(told)
        for leaf in leaves:
            self._waiting.setdefault(id(leaf), (weakref.ref(leaf), {}))[1].update(found)

    def _blamed(self, target: Stack) -> dict[Stack, Event]:
        """The conversions whose results flow into the loss, by the text."""
        from tonumpy.rehearsal.standin.value_flow import reaches  # reads texts, needed by few: start-up

        found = dict(self._numbers)
        for each in self._conversions.values():
            stack = _own(each.stack)
            if reaches(stack, target) and any(reaches(cut, stack) for cut in self._cuts):
                found[stack] = each._replace(way="lost gradient", reasons=(), error=None)
        return {stack: each for stack, each in found.items() if stack not in self._told and reaches(stack, target)}

    def _tell(self, found: dict[Stack, Event]) -> None:
        for stack, each in found.items():
            if stack not in self._told:
                self._told.add(stack)
                self._reports.observer(each, None)

    def _patch_grads(self, patches: Patches) -> None:
        """Patch `Tensor.grad` to drop a leaf from the waiting ones when its gradient is read."""
        grad, waiting = vars(Tensor).get("grad") or vars(torch._C.TensorBase)["grad"], self._waiting

        def get(self_: Any) -> Any:
            found = waiting.get(id(self_))
            if found is not None and found[0]() is self_:
                del waiting[id(self_)]
            return grad.__get__(self_)

        patches.replace(Tensor, "grad", property(get, grad.__set__, grad.__delete__, grad.__doc__))


def _cutting(function: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    """Wrap a function that ends a history so that it notes the tensors that have one."""

    @functools.wraps(function)
    def cut(tensor: Any, *args: Any) -> Any:
        if tensor.requires_grad and not sys._getframe(1).f_code.co_filename.startswith(_OF_TORCH):
            with guarded(_NOT_TOLD):
                note(tensor)
        return function(tensor, *args)

    return cut


def _leaves(loss: Any) -> list[Any] | None:
    """The leaves that the gradients of a loss reach; None if a parameter is among them, or the graph is too large."""
    if loss.grad_fn is None:
        return None if isinstance(loss, torch.nn.Parameter) else [loss]
    waiting, seen, found = [loss.grad_fn], {loss.grad_fn}, []
    while waiting:
        node = waiting.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            if isinstance(variable, torch.nn.Parameter):
                return None
            found.append(variable)
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)
        if len(seen) > _MOST_NODES:
            return None
    return found or None


@functools.lru_cache(maxsize=4096)
def _own(stack: Stack) -> Stack:
    return tuple(call for call in stack if is_own(call.filename))
