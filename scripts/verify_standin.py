"""Hold the stand-in of `tonumpy rehearse` to the test device of the suite, which torch itself refuses to convert.

    python scripts/verify_standin.py [--record] [--no-fixtures] [PROGRAM...]

Each executable fixture runs with each sort of tensor in each grad mode on both; what raises must raise in the same row,
with the same type and message. So must each PROGRAM, a script that asks for CUDA: as it is, once for each conversion
that a rehearsal finds with all others repaired, and once with all of them repaired. `--record` writes the figures into
docs/verified.md. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import torch  # noqa: E402
import verified  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Outcomes = dict[str, list[Any]]

SHOWN = 40  # of what differs
# How a program ends on the test device that needs more than it has: `.cuda()`, convolutions, sparse tensors, a module.
_CANNOT_RUN = (["ModuleNotFoundError"], ["AttributeError"], ["NotImplementedError"])


class Tally(NamedTuple):
    """How often the same ran on both, how often it raised on the test device, how often it could not run there, as a
    module is missing or the device lacks what it needs, and what differed."""

    what: str
    runs: int
    raised: int
    missing: int
    differ: tuple[str, ...]


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", type=Path, metavar="PROGRAM")
    parser.add_argument("--record", action="store_true", help="write the figures into docs/verified.md")
    parser.add_argument("--no-fixtures", action="store_true", help="the programs alone")
    arguments = parser.parse_args()
    tallies = [] if arguments.no_fixtures else [tally("executable fixtures", both(()))]
    if arguments.programs:
        with tempfile.TemporaryDirectory() as folder:
            variants = [path for program in arguments.programs for path in variants_of(program, Path(folder))]
            tallies.append(
                tally(f"{len(arguments.programs)} programs, as they are and repaired in part", both(variants))
            )
    section = report(tallies)
    print(section)
    if arguments.record:
        title = f"Stand-in beside the test device, {verified.environment()}, torch {torch.__version__}"
        verified.put_section(verified.PATH, title, section)
    return int(any(each.differ for each in tallies))


def both(programs: Sequence[Path]) -> tuple[Outcomes, Outcomes]:
    """What came of the programs, or without any of the fixtures, on the stand-in and on the test device."""
    script = ROOT / "tests" / "standin_beside.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2]), "MPLBACKEND": "Agg"}
    found = []
    for which in ("standin", "toy"):
        command = [sys.executable, str(script), which, *map(str, programs)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=True, cwd=script.parent
        )
        found.append(json.loads(done.stdout))
    return found[0], found[1]


def variants_of(program: Path, folder: Path) -> Iterable[Path]:
    """The program as it is; with all conversions repaired that a rehearsal finds; and with all of them but one."""
    text = program.read_text(encoding="utf-8")
    command = [sys.executable, "-m", "tonumpy", "rehearse", "--isolated", "--output-format", "json", "--", str(program)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=False, cwd=folder
    )
    fixes = [each["fix"]["edits"] for each in json.loads(done.stdout) if each["fix"]]
    kept = [fixes, *([each for each in fixes if each is not left] for left in fixes), []]
    for number, edits in enumerate(kept):
        path = folder / program.stem / str(number) / program.name
        path.parent.mkdir(parents=True)
        path.write_text(edited(text, [edit for each in edits for edit in each]), encoding="utf-8")
        yield path


def edited(text: str, edits: Iterable[dict[str, Any]]) -> str:
    """Columns count characters from 1."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(place: dict[str, int]) -> int:
        return starts[place["row"] - 1] + place["column"] - 1

    unique = {(offset(each["location"]), offset(each["end_location"]), each["content"]) for each in edits}
    for start, end, content in sorted(unique, reverse=True):
        text = text[:start] + content + text[end:]
    return text


def tally(what: str, outcomes: tuple[Outcomes, Outcomes]) -> Tally:
    ours, others = outcomes
    ran = {name: each for name, each in others.items() if each[1:2] not in _CANNOT_RUN}
    differ = tuple(f"{name}: {ours[name]}, but {ran[name]}" for name in ran if ours[name] != ran[name])
    return Tally(what, len(ran), sum(bool(each) for each in ran.values()), len(others) - len(ran), differ)


def report(tallies: Sequence[Tally]) -> str:
    lines = [
        f"- date: {verified.now()}",
        "- on both, with `stop`: the same row, type and message (but for the device's name), or no error",
        "",
        "| what | runs | raised on the test device | differ | cannot run on it |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {each.what} | {each.runs} | {each.raised} | {len(each.differ) or 'none'} | {each.missing or 'none'} |"
            for each in tallies
        ),
    ]
    differ = [f"- {each}" for tally in tallies for each in tally.differ]
    if differ:
        lines += ["", *differ[:SHOWN]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
