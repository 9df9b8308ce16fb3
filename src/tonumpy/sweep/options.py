"""The options of `tonumpy sweep`."""

from __future__ import annotations

import argparse
from contextlib import suppress

_EPILOG = """\
Options after `--` go to `tonumpy check` in every repository:
  tonumpy sweep repositories.txt out -- --select TNP1 --strict

exit codes:
  0  nothing found
  1  findings
  2  a repository or a file could not be read, parsed or finished, or the command is wrong
  130  interrupted; the same command goes on where it stopped"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "repositories",
        metavar="REPOSITORIES",
        help="a manifest (text or .csv: clone URL or path, revision, folder), or a folder of repositories",
    )
    parser.add_argument("output", metavar="OUT", help="the folder for the Parquet data set, new or from an earlier run")
    group = parser.add_argument_group("engine")
    group.add_argument("--workers", type=_count, metavar="N", help="number of processes (default: one per core)")
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="use the Dask cluster at tcp://... instead of starting one"
    )
    group.add_argument(
        "--task-timeout", type=_seconds, default=900.0, metavar="SECONDS", help="time limit of a task (default: 900)"
    )
    group.add_argument("--task-memory", default="4GiB", metavar="SIZE", help="memory limit of a task (default: 4GiB)")
    group = parser.add_argument_group("results")
    group.add_argument(
        "--patches", metavar="DIR", help="write the safe fixes of each repository as a patch for `git am`"
    )
    group.add_argument("--unsafe-fixes", action="store_true", help="include unsafe fixes in the patches")
    group.add_argument("--html", metavar="FILE", help="write one HTML report over all repositories")
    group.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    group.add_argument("-q", "--quiet", action="store_true", help="show no progress and no summary")


def _count(text: str) -> int:
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a number above 0, found `{text}`")


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0.0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found `{text}`")
