"""Values that are tensors on some paths and lists, arrays or numbers on others: what it prints stays after a safe fix."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ones = torch.ones(3).to(device)


def show(name, work, *given):
    value = work(*given)
    print(name, repr(value), [type(each).__name__ for each in value.ravel()] if isinstance(value, np.ndarray) else "")


def of_parameter(mean):
    return np.array(mean)


for given in (ones, [1, 2], 3.0, np.ones(2), ones.tolist(), None):
    show("parameter", of_parameter, given)


def of_default(x=None):
    return np.asarray(x)


show("default", of_default)
show("default", of_default, ones)


def of_union(x: Union[torch.Tensor, np.ndarray, list]):
    return np.asarray(x)


for given in (ones, np.ones(1), [1]):
    show("union", of_union, given)


def of_several(*parts, **named):
    return np.concatenate(parts), [np.asarray(each) for each in named.values()]


show("several", of_several, ones, np.ones(2), [1.0])
show("several", lambda: of_several(ones, a=ones, b=[1], c=2.0))


class Held:
    last = None

    def __init__(self, x):
        self.x = x
        self.y = torch.zeros(2).to(device)

    def arrays(self):
        return np.asarray(self.x), np.asarray(self.y), np.asarray(self.last)


for given in (ones, [1, 2], 3):
    show("attribute", Held(given).arrays)
held = Held(ones)
held.y = [1, 2]
held.last = ones
show("attribute", held.arrays)
setattr(held, "y", 5.0)
show("attribute", held.arrays)
other = copy.deepcopy(held)
other.__dict__.update(x=[1])
show("attribute", other.arrays)


class Base(ABC):
    low = torch.ones(2).to(device)

    @property
    def high(self):
        return torch.ones(2).to(device)

    def middle(self):
        return torch.ones(2).to(device)

    @abstractmethod
    def width(self): ...

    def arrays(self):
        return np.asarray(self.low), np.asarray(self.high), np.asarray(self.middle()), np.asarray(self.width())


class Tensors(Base):
    def width(self):
        return ones


class Others(Base):
    low = 5

    @property
    def high(self):
        return 4

    def middle(self):
        return [1, 2]

    def width(self):
        return 3.0


show("subclass", Tensors().arrays)
show("subclass", Others().arrays)


@dataclass
class Record:
    x: Any = field(default_factory=lambda: ones)
    y: Optional[torch.Tensor] = None

    def arrays(self):
        return np.asarray(self.x), np.asarray(self.y)


Pair = namedtuple("Pair", "x y")


def of_record(record):
    return np.asarray(record.x), np.asarray(record.y)


for each in (Record(), Record([1]), Record(2, ones), Pair(ones, 1), Pair([1], ones)):
    show("record", of_record, each)
    if isinstance(each, Record):
        show("record", each.arrays)

scales = {"mean": torch.ones(2).to(device), "std": 0.1}
current = torch.ones(2).to(device)
rows = [ones, [1, 2, 3]]


def of_module():
    return np.asarray(scales["mean"]), np.asarray(current)


def change(value):
    global current
    current = value


show("module", of_module)
scales["mean"] = [2]
change([1])
show("module", of_module)
show("items", lambda: [np.asarray(each) for each in rows])
show("items", lambda: np.stack(rows))
show("items", lambda: [np.asarray(each) for each in {"a": ones, "b": [1, 2], "c": 3}.values()])
show("items", lambda: np.asarray({"a": ones}.get("b", 0)))
for each in (ones, 1.0, [2]):
    show("items", lambda: np.asarray(each))


def of_branch(as_list, x):
    made = x.tolist() if as_list else x * 2
    return np.array(made)


show("branch", of_branch, True, ones)
show("branch", of_branch, False, ones)


def given_back(as_list=False):
    made = torch.ones(2).to(device)
    return made.tolist() if as_list else made


show("branch", lambda: np.asarray(given_back(True)))
show("branch", lambda: np.asarray(given_back()))


def of_loop(count):
    value, total = 0.0, sum(each.to(device) for each in [ones] * count)
    for _ in range(count):
        value = value + torch.ones(2).to(device)
    return np.asarray(value), np.asarray(total)


show("loop", of_loop, 0)
show("loop", of_loop, 2)


def of_try(x):
    try:
        value = torch.as_tensor(x).to(device)
    except (TypeError, ValueError, RuntimeError):
        value = [0]
    return np.asarray(value)


show("try", of_try, [1])
show("try", of_try, "a")


def of_closure(is_list):
    value = torch.ones(2).to(device)

    def inner():
        return np.asarray(value)

    if is_list:
        value = [1]
    return inner()


show("closure", of_closure, True)
show("closure", of_closure, False)

a, b, number = torch.ones(1).to(device), torch.ones(2).to(device), torch.tensor(1.0, device=device)
kind = object
show("objects", lambda: np.array([a, b], dtype=object))
show("objects", lambda: np.array([a, b], dtype="O"))
show("objects", lambda: np.asarray([a, b], "object"))
show("objects", lambda: np.array([number, number], dtype=np.object_))
show("objects", lambda: np.array([each for each in (a, b)], dtype=np.dtype("O")))
show("objects", lambda: np.array([a, b], dtype=kind))
show("objects", lambda: np.array([a, b], **{"dtype": object}))
show("objects", lambda: np.array([number, "a"], dtype=object))
filled = np.empty(2, dtype=object)
filled[0], filled[1] = a, b
show("objects", lambda: filled)

show("mixed", lambda: np.array([ones.sum(), 1.0, np.float32(2)]))
show("mixed", lambda: np.vstack([ones, [1, 2, 3]]))
show("mixed", lambda: np.concatenate((ones[None], np.ones((1, 3)))))
show("mixed", lambda: np.where(np.array([True, False, True]), ones, 0))
show("mixed", lambda: np.array([[1, 2, 3], ones]))
show("mixed", lambda: np.array([number, number]))
show("mixed", lambda: np.isin(2, torch.arange(3).to(device)))
