"""What a process is told of a rehearsal: where it writes, which device it pretends, whether it stops at the first,
and how many such devices there are."""

from __future__ import annotations

import json
from typing import NamedTuple

VARIABLE = "TONUMPY_REHEARSAL"  # of the environment, for the processes that a program starts


class Order(NamedTuple):
    folder: str
    device: str
    stop: bool
    devices: int = 1

    def as_text(self) -> str:
        return json.dumps(self)


def order_of(text: str) -> Order:
    return Order(*json.loads(text))
