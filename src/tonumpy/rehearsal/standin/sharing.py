"""Arrays that share memory with a tensor -> those that were kept while the tensor was written again and again.

`frames.append(position.numpy())` in a loop that moves `position` is such a place. One array of an earlier time may just
be a name that is not bound anew yet; two of different times are kept.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Event, Observer


class _Kept(NamedTuple):
    array: weakref.ref[Any]
    version: int
    event: Event


class Sharing:
    """Remembers the arrays that are alive."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._by_memory: dict[int, list[_Kept]] = {}
        self._told: set[object] = set()

    def note(self, tensor: Any, array: Any, event: Event) -> None:
        """An array was made; tell of the earlier ones if what they hold has been overwritten."""
        if tensor.is_inference() or tensor.is_conj() or tensor.is_neg():
            return  # without a count of writes, or a copy
        address, version = tensor.data_ptr(), tensor._version
        kept = [each for each in self._by_memory.get(address, ()) if each.array() is not None]
        stale = {each.version for each in kept if each.version != version}
        if len(stale) > 1 and event.stack not in self._told:
            self._told.add(event.stack)
            self._observer(kept[0].event._replace(way="shared write", reasons=(), error=None), tensor)
        if not any(each.version == version for each in kept):
            kept.append(_Kept(weakref.ref(array), version, event))
        self._by_memory[address] = kept[-8:]
        if len(self._by_memory) > 1000:
            self._by_memory = {
                key: each for key, each in self._by_memory.items() if any(one.array() is not None for one in each)
            }
