"""What each mechanism of the analysis is worth: on how many trees its answers count, what it costs, and which findings
appear or go when it is switched off. Writes docs/rent.md.

    python scripts/measure_rent.py --store FOLDER TREE...            count, switch off one at a time, write the table
    python scripts/measure_rent.py --store FOLDER --count TREE...    count alone
    python scripts/measure_rent.py --store FOLDER --together --only WORD[,WORD...] TREE...   several off at once

`rent_mechanisms.py` names the mechanisms: a new one gets its row there. FOLDER keeps what was measured, so that a run
goes on where another ended; a mechanism is switched off only on trees where it answered anything but neutral. A tree is
checked as a user checks it, at low confidence, which holds what is shown by default.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rent_mechanisms import GONE, Mechanism, Switch, load_all, mechanisms, put

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tonumpy"
OPTIONS = "check --isolated --no-cache --jobs 1 --exit-zero --confidence low --output-format json".split()
Found = dict[tuple[str, int, int, str], str]  # file, row, column and code: the confidence
HEAD = """# The rent of each mechanism

What `scripts/measure_rent.py` measured on {trees} public repositories ({names}):
each mechanism of the analysis is switched off, and what is found at low confidence compared. *Lines* are those of files
that would go with it. *Share* is that of the CPU time which was spent in its functions, with all that they call. *Used*
is the number of trees on which it answered anything but neutral, *off* that of those on which it was switched off:
alone, or with others that changed nothing together. The other columns are findings that appear (+) or go (-) without
it, at default and at low, and the trees on which any does. What speaks of speed changes no finding, and should not.
[How often each habit counts](habits-measured.md) was counted on more repositories.

| mechanism | lines | share | used | off | default | low | trees |
|---|---:|---:|---:|---:|---:|---:|---:|
"""
TAIL = """

## What did not pay

Mechanisms that are gone. They were switched off one at a time on eight repositories (kornia, stable-baselines3,
detectron2, yolact, speechbrain, yolov5, diffusers, ignite); *used* is on how many of these they were asked. The last
row was counted on eighteen smaller ones.

| mechanism | lines | used | default | low | in its place |
|---|---:|---:|---:|---:|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--only", default="", help="mechanisms whose names hold one of these words")
    parser.add_argument("trees", nargs="*", type=Path)
    arguments = parser.parse_args()
    store, trees = arguments.store.absolute(), [tree.absolute() for tree in arguments.trees]
    words = [word for word in arguments.only.split(",") if word]
    chosen = [each for each in mechanisms() if not words or any(word in each.name for word in words)]
    for tree in trees:
        counted = _counted(store, tree)
        if arguments.together:
            _print(tree, "all of these", _switched_off_together(store, tree, chosen, counted))
        elif not arguments.count:
            for each in chosen:
                if counted["used"].get(each.name, 1):
                    _print(tree, each.name, _switched_off(store, tree, each, counted))
    if not arguments.together and not arguments.count:
        (ROOT / "docs" / "rent.md").write_text(table(store), encoding="utf-8")


def _counted(store: Path, tree: Path) -> dict[str, Any]:
    return _kept(store / "counted" / f"{tree.name}.json", lambda: _run(tree, store, None))


def _switched_off(store: Path, tree: Path, mechanism: Mechanism, counted: dict[str, Any]) -> dict[str, Any]:
    return _kept(_path_of(store, tree, mechanism), lambda: _compared(counted, _run(tree, store, [mechanism.name])))


def _switched_off_together(store: Path, tree: Path, chosen: list[Mechanism], counted: dict[str, Any]) -> dict[str, Any]:
    """Where nothing changes without all of them, each is taken to change nothing there."""
    compared = _compared(counted, _run(tree, store, [each.name for each in chosen]))
    if not any(map(len, (*compared["default"], *compared["low"]))):
        for each in chosen:
            _kept(_path_of(store, tree, each), lambda: compared)
    return compared


def _path_of(store: Path, tree: Path, mechanism: Mechanism) -> Path:
    return store / "off" / mechanism.name.replace("/", " ") / f"{tree.name}.json"


def _kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not path.exists():
        made = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made), encoding="utf-8")
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known


def _run(tree: Path, store: Path, off: list[str] | None) -> dict[str, Any]:
    """What a check of the tree, in a process of its own, finds with some mechanisms off; None: all on, and counted."""
    store.mkdir(parents=True, exist_ok=True)
    out = store / f"part-{os.getpid()}.json"
    load_all()
    child = os.fork()
    if not child:
        try:
            _in_child(off, out, tree)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    out.unlink()
    return made


def _in_child(off: list[str] | None, out: Path, tree: Path) -> None:
    from tonumpy.frontends.cli import main as command

    load_all()
    meters = {each.name: [Meter(switch) for switch in each.switches()] for each in mechanisms()} if off is None else {}
    options: list[str] = []
    ignored, disabled = [], []
    for each in mechanisms():
        if off is not None and each.name in off:
            for switch in each.switches():
                put(switch.place, switch.make)
            ignored += [each.options[1]] if each.options[:1] == ("--ignore",) else []
            disabled += [each.name.removeprefix("habit ")] if each.options[:1] == ("--config",) else []
    options += ["--ignore", ",".join(ignored)] if ignored else []
    options += ["--config", f"disable-habits={disabled}"] if disabled else []
    os.chdir(tree)
    found = out.with_suffix(".findings")
    status = command([*OPTIONS, *options, "-o", str(found), "."])
    own = resource.getrusage(resource.RUSAGE_SELF)
    made = {
        "findings": [
            (each["filename"], *each["location"].values(), each["code"], each.get("confidence", "error"))
            for each in json.loads(found.read_text(encoding="utf-8"))
        ],
        "used": {name: sum(meter.used for meter in parts) for name, parts in meters.items() if parts},
        "spent": {name: sum(meter.spent for meter in parts) for name, parts in meters.items() if parts},
        "seconds": own.ru_utime + own.ru_stime,
        "status": status,
    }
    found.unlink()
    out.write_text(json.dumps(made), encoding="utf-8")


class Meter:
    """How often a function answered anything but neutral, and the CPU time of its outermost calls."""

    def __init__(self, switch: Switch) -> None:
        self.used, self.spent = 0, 0.0
        self._switch, self._depth = switch, 0
        put(switch.place, self._metered)

    def _metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def metered(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            self._depth += 1
            began = time.thread_time() if self._depth == 1 else 0.0
            try:
                answer = function(*given, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.spent += time.thread_time() - began
            if hasattr(answer, "__next__"):
                answer = list(answer)
            self.used += not self._switch.is_neutral(answer, given, named)
            return answer

        return metered


def _compared(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"seconds": other["seconds"], "status": other["status"]}
    for level in ("default", "low"):
        before, after = _shown(one["findings"], level), _shown(other["findings"], level)
        made[level] = [sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())]
    return made


def _shown(findings: list[Any], level: str) -> Found:
    shown = (each for each in findings if level == "low" or each[-1] != "low")
    return {tuple(place): confidence for *place, confidence in shown}  # type: ignore[misc]


def _print(tree: Path, name: str, compared: dict[str, Any]) -> None:
    counts = " ".join(f"{level} +{len(compared[level][0])} -{len(compared[level][1])}" for level in ("default", "low"))
    print(f"{tree.name:<32} {name:<48} {counts} {compared['seconds']:.1f} s", flush=True)
    for sign, places in zip("+-", compared["default"], strict=True):
        for place in places:
            print(f"    {sign} {place}", flush=True)


def table(store: Path) -> str:
    """The page, of all that is kept."""
    counted = [json.loads(each.read_text(encoding="utf-8")) for each in sorted((store / "counted").glob("*.json"))]
    seconds = sum(each["seconds"] for each in counted)
    rows = []
    for each in mechanisms():
        used = sum(bool(tree["used"].get(each.name, 1)) for tree in counted)
        spent = sum(tree["spent"].get(each.name, 0) for tree in counted)
        share = f"{100 * spent / seconds:.1f} %" if counted and each.name in counted[0]["spent"] else ""
        off = [json.loads(path.read_text()) for path in (store / "off" / each.name.replace("/", " ")).glob("*.json")]
        changed = {level: [sum(len(tree[level][at]) for tree in off) for at in (0, 1)] for level in ("default", "low")}
        trees = sum(any(map(len, (*tree["default"], *tree["low"]))) for tree in off)
        shown = [f"+{changed[level][0]} -{changed[level][1]}" if off else "" for level in ("default", "low")]
        lines = sum(_lines(SOURCE / file) for file in each.files)
        cells = (each.name, lines or "", share, used, len(off), *shown, trees)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    gone = "\n".join(f"| {' | '.join(map(str, each))} |" for each in GONE)
    names = ", ".join(each.stem.partition("+")[2] or each.stem for each in sorted((store / "counted").glob("*.json")))
    return HEAD.format(trees=len(counted), names=names) + "\n".join(rows) + TAIL + gone + "\n"


def _lines(path: Path) -> int:
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


if __name__ == "__main__":
    main()
