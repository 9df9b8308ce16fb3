"""FOLDER ORDERS: what is found in the files of a folder, each in a process of its own, and all in one in random orders.

Each of these begins as the others do: it is forked from one that has looked at nothing. Prints one object in JSON: what
was found by the name of each file, alone, and the names of those where an order found something else.
"""

from __future__ import annotations

import json
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tonumpy.cli.outcomes import Task
from tonumpy.cli.run import check, fix
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = Settings(select=("ALL",), confidence="low", unsafe_fixes=True)


def found_in(names: list[str], make: Callable[[], Project], *, repaired: bool) -> dict[str, object]:
    """By one project, which keeps what it has read of the repository."""
    project, found = make(), {}
    for name in names:
        outcomes = [work(Task(name, None, SETTINGS), project) for work in ([fix, check] if repaired else [check])]
        found[name] = [
            repr((each.findings, each.fixed, each.change, each.errors, each.skipped)) for each in outcomes[-1:]
        ]
    return found


def forked(names: list[str], make: Callable[[], Project], *, repaired: bool = False) -> dict[str, object]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with open(writing, "w") as stream:
            json.dump(found_in(names, make, repaired=repaired), stream)
        os._exit(0)
    os.close(writing)
    with open(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return dict(json.loads(text))


def main() -> None:
    folder, orders = sys.argv[1], int(sys.argv[2])
    os.chdir(folder)
    names = sorted(str(path) for path in Path().rglob("*.*") if path.suffix in (".py", ".ipynb"))
    alone: dict[str, object] = {}
    for name in names:
        alone |= forked([name], Project)
    others = set()
    for order in range(orders):
        random.Random(order).shuffle(names)
        together = forked(names, partial(Project, records=True) if order % 2 else Project, repaired=order == 1)
        others |= {name for name in names if together[name] != alone[name]}
    json.dump({"alone": alone, "others": sorted(others)}, sys.stdout)


if __name__ == "__main__":
    main()
