"""Writes detectors/libraries/NAME.json: what the public callables of other libraries do with a tensor they are given.

`measure_sinks.py numpy scipy` enumerates what these libraries give to their users, finds calls that work with an
array, and tries them with tensors that are plain, require grad, are on a device (the one of tests/accelerator), of
bfloat16, sparse, and with lists and dicts of these. What users do next is tried too: an artist is drawn, a frame
printed. Each callable is tried in a process of its own, with limits of time and memory, without the network, and with
no file outside a temporary folder. Without names it measures every library that is installed. With --check it
writes nothing: it tries the calls of the table (every Nth, with --every N) and names those that differ.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

from sink_trials.outcomes import Given

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "WANDB_MODE": "disabled"})
os.environ.update({"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"})  # what it compiles outlives a fork
os.environ.update({"MLFLOW_ALLOW_FILE_STORE": "1", "MLFLOW_TRACKING_URI": "./runs", "MLFLOW_DISABLE_TELEMETRY": "1"})
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import torch  # noqa: E402
from accelerator import register  # noqa: E402
from sink_trials.later import make_plain  # noqa: E402
from sink_trials.libraries import LIBRARIES, Library, library_of  # noqa: E402
from sink_trials.names import callables_of, modules_of  # noqa: E402
from sink_trials.outcomes import COUNTED  # noqa: E402
from sink_trials.table import Row, path_of, written  # noqa: E402
from sink_trials.trial import (  # noqa: E402
    ALSO,
    SECONDS,
    SECONDS_OF_CLASS,
    differing,
    forked,
    measured_by_hand,
    methods_in,
    of_class,
    of_function,
    of_method,
    thing_of,
)
from sink_trials.values import EXTRAS, WAYS  # noqa: E402

# A name, other names that lead to the same, what tries it, and the seconds that it is given.
Job = tuple[str, list[str], "Callable[[], Iterator[Row]]", float]


def versions_of(library: Library) -> str:
    package = library.package or library.root
    if library.root in sys.stdlib_module_names:
        own = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    else:
        own = f"{package} {importlib.metadata.version(package)}"
    return f"{own}, torch {torch.__version__.partition('+')[0]}, numpy {importlib.metadata.version('numpy')}"


def is_installed(library: Library) -> bool:
    try:
        return importlib.util.find_spec(library.root) is not None
    except ImportError:
        return False


def measure(library: Library, folder: Path) -> list[Row]:
    """The rows of all callables."""
    rows: list[Row] = []
    known: set[str] = set()
    jobs = list(_jobs(library, known, folder))
    start = time.monotonic()
    for number, (name, aliases, work, seconds) in enumerate(jobs):
        found = forked(work, seconds, folder)
        methods = [row for row in found if row.get("code")]
        if any(row["accepts"] for row in methods):  # else the object is an empty one, of an abstract class
            known |= {row["code"] for row in methods}
        rows += [{"name": name, **row, "aliases": aliases if row.get("name") == name else []} for row in found]
        if number % 50 == 0 or number == len(jobs) - 1:
            print(f"{library.root}: {number + 1} of {len(jobs)}, {time.monotonic() - start:.0f} s", file=sys.stderr)
    return rows


def _jobs(library: Library, known: set[str], folder: Path) -> Iterator[Job]:
    for call, _ in library.trials:
        yield call, [], partial(measured_by_hand, library, call), SECONDS
    for thing in (each for each in library.things if each.is_first):
        make = thing_of(library, thing.make)
        name = f"{library.root}.{thing.name}"
        for row in forked(partial(methods_in, make), SECONDS, folder):
            if row.get("code", "") not in known | {""} and re.match(library.only, row["method"]):
                known.add(row["code"])
                work = partial(of_method, name, make, row["method"], row["code"], library)
                yield f"{name}#{row['method']}", [], work, SECONDS
    for named in callables_of(library.root, library.modules, library.walks):
        function = named.function
        if not re.match(library.only, named.name.rpartition(".")[2]):
            continue
        if inspect.isclass(function) and library.methods:
            work = partial(of_class, named.name, function, library, known)
            yield named.name, list(named.aliases), work, SECONDS_OF_CLASS
        else:
            work = partial(of_function, named.name, function, library)
            yield named.name, list(named.aliases), work, SECONDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", help="by the names that they are imported by")
    parser.add_argument("--check", action="store_true", help="name the rows that differ, exit 1 if there are any")
    parser.add_argument("--every", type=int, default=1, help="with --check: only every Nth row")
    arguments = parser.parse_args()
    libraries = [library_of(name) for name in arguments.libraries] or list(filter(is_installed, LIBRARIES))
    torch.set_num_threads(1)
    register()
    folder = Path(tempfile.mkdtemp(prefix="tonumpy-sinks-"))
    status = 0
    for library in libraries:
        versions = versions_of(library)
        child = os.fork()
        if child:
            status |= os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            continue
        for name in (library.root, *library.modules, *ALSO.get(library.root, ())):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)  # before anything is confined
        if "matplotlib" in sys.modules:
            make_plain()
        EXTRAS.update({name: thing_of(library, make) for name, make in library.extras})
        for way, text in library.ways:
            WAYS[way] = (cast("Given", eval(f"lambda value: {text}")),)
        if library.warns:
            COUNTED.append(cast("type[Warning]", thing_of(library, library.warns)()))
        if library.once:
            thing_of(library, library.once)()
        if arguments.check:
            table = json.loads(path_of(library).read_text("utf-8"))["functions"]
            names = differing(library, table, arguments.every, folder)
            print("\n".join(names))
            os._exit(1 if names else 0)
        rows = measure(library, folder)
        modules = modules_of(library.root, library.modules, library.walks)
        path_of(library).write_text(written(library, versions, rows, modules), "utf-8")
        os._exit(0)
    return status


if __name__ == "__main__":
    sys.exit(main())
