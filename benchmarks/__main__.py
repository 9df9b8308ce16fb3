"""tonumpy's speed beside that of other tools, on the same files in the same run.

    python -m benchmarks [--set NAME[=FOLDER] ...] [--rounds N] [--slow-on NAME ...] [--only WORD ...] [--semgrep]

The sets S, M and L are built from released packages (benchmarks/sets.py). Every tool runs on a set once before
the next round begins. The outcome is printed and written to docs/dev/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measure, report, sets, tools

CLEAN = "import os\n\nprint(os.name)\n"
WITH_FINDING = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tonumpy-benchmarks"


def main() -> None:
    arguments = _arguments()
    cache: Path = arguments.cache
    every = [*tools.TOOLS, *([tools.SEMGREP] if arguments.semgrep else [])]
    words = (*arguments.only, report.OURS)  # the ratios are those to our own
    chosen = [tool for tool in every if not arguments.only or any(word in tool.name for word in words)]
    binaries = {tool.name: tools.install(tool, cache) for tool in chosen}
    versions = {
        tool.version_of: tools.version(tool.version_of, binaries[tool.name]) for tool in chosen if tool.version_of
    }
    measured = []
    for title, target in [*_single_files(cache), *_folders(arguments)]:
        name = title.partition(":")[0]
        measured.append(_measure(title, target, arguments.rounds, name in arguments.slow_on, chosen, binaries))
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    explained = (
        f"Medians of {arguments.rounds} rounds on one machine ({machine}). CPU is user and system time of all processes"
        f" of a tool, and the ratio that to `{report.OURS}`, which runs in one process."
        " How this Python was built counts, too: a build that is not optimized is slower beside tools in Rust."
    )
    about = [
        f"`{shlex.join(['python', '-m', 'benchmarks', *sys.argv[1:]])}`",
        "",
        explained,
    ]
    page = report.page(about, measured, versions)
    print(page)
    if not arguments.dry_run:
        (tools.REPOSITORY / "docs/dev/benchmarks.md").write_text(page, encoding="utf-8")


def _arguments() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", default=[], metavar="NAME[=FOLDER]", help="a set, or a folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-on", nargs="*", default=["S"], metavar="NAME", help="sets for the slow tools, too")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="ours, and tools named with one of these")
    parser.add_argument("--semgrep", action="store_true", help="semgrep, too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where packages and environments are kept")
    parser.add_argument("--dry-run", action="store_true", help="print only")
    return parser.parse_args()


def _single_files(cache: Path) -> list[tuple[str, Path]]:
    folder = cache / "single"
    folder.mkdir(parents=True, exist_ok=True)
    clean, flagged = folder / "clean.py", folder / "flagged.py"
    clean.write_text(CLEAN)
    flagged.write_text(WITH_FINDING)
    return [("One file without a candidate", clean), ("One file with a finding", flagged)]


def _folders(arguments: argparse.Namespace) -> list[tuple[str, Path]]:
    found = []
    for name, _, folder in (each.partition("=") for each in arguments.set or sets.RELEASES):
        if folder:
            found.append((f"{name}: {Path(folder).name.replace('@', ' ')}", Path(folder)))
        else:
            found.append((f"{name}: {_words(sets.RELEASES[name])}", sets.released(name, arguments.cache)))
    return found


def _words(pins: Sequence[str]) -> str:
    return pins[0].replace("==", " ") if len(pins) == 1 else f"{len(pins)} packages"


def _measure(
    title: str, target: Path, rounds: int, is_slow_set: bool, chosen: Sequence[tools.Tool], binaries: dict[str, Path]
) -> report.Measured:
    is_file = target.is_file()
    taken = [
        tool
        for tool in chosen
        if (is_file and "Python" not in tool.name) or (not is_file and not tool.slow) or is_slow_set
    ]
    files = [target] if is_file else sets.python_files(target)
    candidates = sum(b".numpy(" in path.read_bytes() for path in files)  # this also warms the file cache
    costs: dict[str, list[measure.Cost]] = {tool.name: [] for tool in taken}
    for number in range(rounds):
        for tool in taken:
            print(f"{title}: round {number + 1}, {tool.name}", file=sys.stderr)
            costs[tool.name].append(measure.cost_of(tool.command(binaries[tool.name], str(target))))
    return report.Measured(title, len(files), candidates, {name: measure.median(each) for name, each in costs.items()})


if __name__ == "__main__":
    main()
