"""The order that a process is given for a rehearsal, and the environment in which those that it starts follow."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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


_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")  # has the sitecustomize.py
NAMES = (VARIABLE, "PYTHONPATH")


def hooked(environment: Mapping[Any, Any], text: str) -> Mapping[Any, Any]:
    """`text` is the order. Names and values are text or bytes; the mapping itself, where it has all that is needed."""
    named = {os.fsdecode(name): name for name in environment}
    former = os.fsdecode(environment[named["PYTHONPATH"]]) if "PYTHONPATH" in named else ""
    paths = [path for path in former.split(os.pathsep) if path]
    order = os.fsdecode(environment[named[VARIABLE]]) if VARIABLE in named else ""
    if paths[:1] == [_CHILD] and order == text:
        return environment
    wanted = {VARIABLE: text, "PYTHONPATH": os.pathsep.join([_CHILD, *(path for path in paths if path != _CHILD)])}
    return {**environment, **{named.get(name, name): value for name, value in wanted.items()}}
