"""Asynchronous copies towards the host -> those that were read before anything waited for them.

The copies of the stand-in are made at once, so the values are right; on hardware the memory would hold what was there
before. A copy is forgotten where the host waits: at a synchronisation of its stream, and at whatever reads a tensor of
the device, or copies between device and host, without `non_blocking`.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

from tonumpy.rehearsal.events import Call
from tonumpy.rehearsal.standin import streams
from tonumpy.rehearsal.standin.event_of import event
from tonumpy.rehearsal.standin.origins import place_of_caller
from tonumpy.rehearsal.standin.overwritten import has_passed, is_view, reads_after
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.events import Event, Observer
    from tonumpy.rehearsal.standin.factories import Pinned
    from tonumpy.rehearsal.standin.kernels import Kernel
    from tonumpy.rehearsal.standin.overwritten import Read
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.stacks import Stacks

Tensor = torch.Tensor
_OF_MODULES = os.path.join(os.path.dirname(torch.__file__), "nn", "modules", "module.py")
# Of what is no tensor, these read the memory.
_READS = frozenset(
    "item tolist __bool__ __float__ __int__ __index__ __complex__ __contains__ __repr__ __str__ __format__"
    " __dlpack__ equal allclose is_nonzero numpy __array__".split()
)
# They ask of a tensor how large it is, and of which dtype.
_MAKES_ANOTHER = ("_like", "new_")
# Operators for which the host waits, of a tensor of the device.
WAITS = frozenset(
    f"aten::{name}"
    for name in (
        "_local_scalar_dense nonzero masked_select _unique2 unique_dim unique_consecutive unique_dim_consecutive equal"
        " is_nonzero bincount repeat_interleave.Tensor nonzero_static argwhere"
    ).split()
)
# They do so unless they are told not to wait, or by what they are given.
MAY_WAIT = frozenset({"aten::copy_", "aten::_to_copy", "aten::index.Tensor", "aten::index_put_"})

_NOT_IN_PLACE = frozenset(
    "zero_ fill_ copy_ normal_ uniform_ random_ exponential_ bernoulli_ geometric_ cauchy_ log_normal_ resize_"
    " resize_as_ set_ requires_grad_ detach_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_"
    " share_memory_ __index__ __init__ __iter__ __invert__ __int__".split()
)


class _Copy(NamedTuple):
    stream: streams.Stream
    number: int
    place: str


class Copies:
    """The copies that nothing has waited for."""

    def __init__(self, observer: Observer, stacks: Stacks) -> None:
        self._observer = observer
        self._stacks = stacks
        self._pending: weakref.WeakKeyDictionary[Any, _Copy] = weakref.WeakKeyDictionary()
        self._reads: list[tuple[_Copy, Read, Event]] = []
        self._here = threading.local()  # `is_seen`: a function of torch is looked at, in which ours are called again
        self._mode = _Reading(self, self._here)

    def patch(self, patches: Patches, memory: Pinned) -> None:
        """Notice copies until `patches` are restored."""
        is_pinned, pinned = memory.has, memory.note
        patches.on_exit(streams.on_wait(self._forget))
        copy_, to, type_, foreach = Tensor.copy_, Tensor.to, Tensor.type, torch._foreach_copy_

        @functools.wraps(copy_)
        def copy(self_: Any, src: Any, non_blocking: bool = False) -> Any:
            is_begun = non_blocking and not self._is_within and _is_towards_host(src, self_) and is_pinned(self_)
            self._watch() if is_begun else None
            result = copy_(self_, src, non_blocking)
            self._begin(self_) if is_begun else None
            self._expect_reads(self_) if is_begun else None
            return result

        def moved(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def move(self_: Any, *args: Any, **kwargs: Any) -> Any:
                if len(args) < 2 and not kwargs:  # a flag is the second at least
                    return function(self_, *args)
                if not _is_asked(args, kwargs) or not self_.is_maia or self._is_within:
                    return function(self_, *args, **kwargs)
                self._watch()
                result = function(self_, *args, **kwargs)
                is_begun = result.is_cpu and result.layout is torch.strided and not _is_of_module()
                if is_begun:
                    self._begin(pinned(result))
                return result

            return move

        @functools.wraps(foreach)
        def copy_each(self_: Any, src: Any, non_blocking: bool = False) -> Any:
            begun = [one for one, other in zip(self_, src, strict=False) if _is_towards_host(other, one)]
            begun = [each for each in begun if non_blocking and is_pinned(each)]
            self._watch() if begun else None
            result = foreach(self_, src, non_blocking)
            for each in begun:
                self._begin(each)
            return result

        start = threading.Thread.start

        @functools.wraps(start)
        def started(thread: Any) -> None:
            if self.is_any:
                thread.run = self._watched(thread.run)
            start(thread)

        patches.replace(threading.Thread, "start", started)
        reduce = Tensor.__reduce_ex__

        @functools.wraps(reduce)
        def reduced(self_: Any, proto: Any) -> Any:
            if self.is_any and self_.is_cpu:
                self.check(self_)
            return reduce(self_, proto)

        patches.replace(Tensor, "__reduce_ex__", reduced)
        methods = {"copy_": copy, "to": moved(to), "type": moved(type_)}
        for name, function in methods.items():
            patches.replace(Tensor, name, function)
        lazy = torch.nn.UninitializedParameter.__mro__[1]  # it lets no other methods pass
        patches.replace(lazy, "_allowed_methods", [*lazy._allowed_methods, *methods.values()])
        patches.replace(torch, "_foreach_copy_", copy_each)
        patches.on_exit(self._leave)
        patches.on_exit(self.flush)

    def waits(self, name: str, kernel: Kernel) -> Kernel:
        """The kernel of an operator for which the host may wait, which forgets then."""
        pending, may_wait = self._pending.data, name in MAY_WAIT  # type: ignore[attr-defined]  # asked of each operator

        def waiting(*args: Any, **kwargs: Any) -> Any:
            if pending and not (may_wait and not _waits(name, args, kwargs)):
                stream = streams.current()
                streams.told_of(stream, stream.copies)
            return kernel(*args, **kwargs)

        return waiting

    def check(self, tensor: Any, *, is_array_made: bool = False) -> None:
        """Tell of a tensor that is read, if it is one of these; where an array is made of it, unless the program waits
        before it reads that."""
        if not self._pending:
            return
        try:
            if self._is_pending(tensor) and not (is_array_made and is_view()):
                found = self._pending.pop(_storage(tensor))
                told = event(tensor, "unfinished copy", (), None, self._stacks)
                self._observer(told._replace(about=f" (made at {found.place})"), tensor)
        except Exception as problem:
            warn(f"Tensor.to: an unfinished copy is not told of ({type(problem).__name__}: {problem})")

    def seems_read(self, function: Any, given: list[Any], result: Any) -> None:
        """A function of torch was given these tensors."""
        try:
            self._look_at(function, given, result)
        except Exception as problem:
            warn(f"Tensor.to: unfinished copies are not told of ({type(problem).__name__}: {problem})")

    def _look_at(self, function: Any, given: list[Any], result: Any) -> None:
        name = getattr(function, "__name__", "")
        read = [each for each in given if each.is_cpu and self._is_pending(each)]
        if not read or name == "__get__" or name == "__set__" or any(word in name for word in _MAKES_ANOTHER):
            return
        if name not in _READS and not _reads_in_place(name, given, read):
            made = list(_tensors(result if isinstance(result, tuple | list) else (result,)))
            known = {id(_storage(each)) for each in (*read, *(one for one in made if one.is_maia))}
            if all(id(_storage(each)) in known for each in made):
                return  # a view, a copy to the device, or nothing that was computed
        for each in read:
            self.check(each, is_array_made=name == "numpy")

    def _is_pending(self, tensor: Any) -> bool:
        return tensor.layout is torch.strided and _storage(tensor) in self._pending

    @property
    def is_any(self) -> bool:
        return bool(self._pending)

    def _begin(self, host: Any) -> None:
        stream = streams.current()
        stream.copies += 1
        self._pending[host.untyped_storage()] = _Copy(stream, stream.copies, place_of_caller())

    def _expect_reads(self, host: Any) -> None:
        """Of arrays that share the memory."""
        try:
            for read in reads_after(host):
                told = event(host, "unfinished copy", (), None, self._stacks)._replace(
                    about=f" (made at {place_of_caller()})"
                )
                self._reads.append((self._pending[host.untyped_storage()], read, told))
        except Exception as problem:
            warn(f"Tensor.copy_: arrays that it overwrites are not told of ({type(problem).__name__}: {problem})")

    def flush(self) -> None:
        """Tell of the reads that came before the end."""
        for _, read, told in self._reads:
            self._tell_of_read(read, told)
        self._reads.clear()

    def _tell_of_read(self, read: Read, told: Event) -> None:
        stack = tuple(
            Call(call.filename, read.row, call.function) if call.filename == read.code.co_filename else call
            for call in told.stack[:1]
        )
        self._observer(told._replace(stack=(*stack, *told.stack[1:])), None)

    def _forget(self, stream: streams.Stream | None, copies: int) -> None:
        for each in list(self._reads):
            copy, read, told = each
            if stream is None or (copy.stream is stream and copy.number <= copies):
                self._reads.remove(each)
                if has_passed(read):
                    self._tell_of_read(read, told)
        for storage, pending in list(self._pending.items()):
            if stream is None or (pending.stream is stream and pending.number <= copies):
                self._pending.pop(storage, None)

    @property
    def _is_within(self) -> bool:
        """Whether torch has called a function of ours again, from the mode."""
        return getattr(self._here, "is_seen", False)

    def _watch(self) -> None:
        """Let functions of torch be seen in this thread from now on: below the modes of the program, which it takes
        off in its own order, and above the one that torch wants to have at the bottom."""
        if self._is_within or self._mode in _stack_of_modes():
            return
        above = [torch.overrides._pop_mode() for _ in range(torch._C._len_torch_function_stack())]
        if above and isinstance(above[-1], DeviceContext):
            torch.overrides._push_mode(above.pop())
        torch.overrides._push_mode(self._mode)
        for mode in reversed(above):
            torch.overrides._push_mode(mode)

    def _watched(self, run: Callable[[], None]) -> Callable[[], None]:
        """What a thread runs that begins while copies are pending: modes are those of one thread."""

        def watched() -> None:
            self._watch()
            run()

        return watched

    def _leave(self) -> None:
        if self._mode not in _stack_of_modes():
            return
        above = []
        while (mode := torch.overrides._pop_mode()) is not self._mode:
            above.append(mode)
        for mode in reversed(above):
            torch.overrides._push_mode(mode)


class _Reading(TorchFunctionMode):  # type: ignore[misc]
    """Looks at what is read while copies are pending."""

    def __init__(self, copies: Copies, here: threading.local) -> None:
        super().__init__()
        self._here = here
        self._copies = copies

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Whatever is done with tensors in this thread."""
        del types
        kwargs = kwargs or {}
        self._here.is_seen = True
        try:
            given = _tensors((*args, *kwargs.values())) if self._copies.is_any else []
            result = func(*args, **kwargs)
            if given:
                self._copies.seems_read(func, given, result)
            return result
        finally:
            self._here.is_seen = False


def _reads_in_place(name: str, given: list[Any], read: list[Any]) -> bool:
    """Whether it changes what it reads (`mul_`, `+=`), or puts that into another tensor."""
    if name == "__setitem__":
        return any(each is not given[0] for each in read)
    if name.startswith("__"):
        return name.startswith("__i") and name.endswith("__") and name not in _NOT_IN_PLACE
    return name.endswith("_") and name not in _NOT_IN_PLACE


def _storage(tensor: Any) -> Any:
    """None for those that have none, as sparse ones."""
    return tensor.untyped_storage() if tensor.layout is torch.strided else None


def _stack_of_modes() -> list[Any]:
    return [torch._C._get_function_stack_at(place) for place in range(torch._C._len_torch_function_stack())]


def _waits(name: str, args: Any, kwargs: Any) -> bool:
    """Whether the host waits for one of the operators that do so at times."""
    if name in ("aten::index.Tensor", "aten::index_put_"):
        return any(each.dtype in (torch.bool, torch.uint8) for each in _tensors(args[1]))
    if kwargs.get("non_blocking") or (name == "aten::copy_" and len(args) > 2 and args[2]):
        return False
    if name == "aten::_to_copy":
        device = kwargs.get("device")
        return device is not None and device.type == "cpu"
    return bool(args[0].is_maia != args[1].is_maia)


def _is_asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a move shall not block."""
    flags = [each for each in args if isinstance(each, bool)]  # `non_blocking` is the first of them
    return bool(kwargs.get("non_blocking", flags[0] if flags else False))


def _is_towards_host(source: Any, target: Any) -> bool:
    return isinstance(source, Tensor) and bool(source.is_maia and target.is_cpu)


def _is_of_module() -> bool:
    """Whether a module is moved: its parameters are there since long."""
    frame = sys._getframe(2)
    for _ in range(4):
        if frame.f_code.co_filename == _OF_MODULES:
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def _tensors(values: Any) -> list[Any]:
    found = []
    for each in values:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, tuple | list):
            found += _tensors(each)
    return found
