"""Runs public programs plain and rehearsed, as a user starts them, and writes how both ended to a page.

    python scripts/measure_breadth.py [--clones FOLDER] [--work FOLDER] [--only WORD ...] [--again] [--page [FILE]]

breadth.toml names the programs: the repository, its commit, the file, the arguments, the small data that is made
here, and what of the text is changed for both runs. `--clones` has git directories OWNER+NAME/repo; without it they
are cloned from GitHub. Results are kept in the work folder, so that a run that was ended goes on; `--again` forgets
them, `--page` writes rehearsed-programs.md, or FILE. What the programs import must be installed beside torch.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import breadth_data
import tomllib

HERE = Path(__file__).parent
PAGE = Path("rehearsed-programs.md")
SEED = "import random, numpy, torch; random.seed(0); numpy.random.seed(0); torch.manual_seed(0)\n"
NUMBER = r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|nan|inf"
LOSS = re.compile(rf"(?i)(?:loss|elbo|bpc|ppl|return|reward|mse|error)\w*[^\w\n]{{0,12}}({NUMBER})")
PACKAGES = "numpy torchvision gymnasium pyro-ppl gpytorch torch_geometric pytorch-ignite lightning torchdiffeq".split()


class Program(NamedTuple):
    """`arguments` may say `{device}`, and `{cuda:WORDS}` for words of the rehearsal alone."""

    repository: str
    commit: str
    file: str
    arguments: str
    data: tuple[str, ...]  # KIND:PATH, made in the folder in which the program is started
    edits: tuple[tuple[str, str], ...]
    folder: str  # in which it is started

    @property
    def name(self) -> str:
        return f"{self.repository}/{self.file}"


class Run(NamedTuple):
    code: int
    loss: str
    seconds: float  # of the processor
    findings: tuple[str, ...]
    said: str  # the last line of what it wrote


def programs(table: Path) -> list[Program]:
    found = []
    for repository in tomllib.loads(table.read_text("utf-8"))["repository"]:
        for each in repository["programs"]:
            folder = each.get("folder", repository.get("folder"))
            found.append(
                Program(
                    repository["name"],
                    repository["commit"],
                    each["file"],
                    each.get("arguments", repository.get("arguments", "")),
                    tuple(each.get("data", repository.get("data", ()))),
                    tuple(map(tuple, [*each.get("edits", ()), *repository.get("edits", ())])),
                    str(Path(each["file"]).parent) if folder is None else folder,
                )
            )
    return found


def tree_of(program: Program, clones: Path | None, work: Path) -> Path:
    """The files of a commit, laid out once."""
    name = program.repository.replace("/", "+")
    tree = work / "trees" / f"{name}@{program.commit[:12]}"
    if tree.exists():
        return tree
    clone = work / "clones" / name if clones is None else clones / name / "repo"
    if not clone.exists():
        url = f"https://github.com/{program.repository}"
        subprocess.run(["git", "clone", "--quiet", "--bare", url, clone], check=True)
    part = tree.with_suffix(".part")
    part.mkdir(parents=True)
    command = ["git", "--git-dir", clone, "--work-tree", part, "checkout", "-f", program.commit, "--", "."]
    index = {"GIT_INDEX_FILE": str(work / "index")}
    done = subprocess.run(command, capture_output=True, env=os.environ | index, check=False)
    if not (part / program.file).exists():  # a clone may lack large files that no program reads
        sys.exit(f"{program.name}: {done.stderr.decode(errors='replace')}")
    return part.rename(tree)


def prepared(program: Program, tree: Path, into: Path) -> Path:
    """A copy of the tree with the data and the edits; gives the folder in which the program is started."""
    top = into / tree.name
    shutil.copytree(tree, top, symlinks=True, ignore=shutil.ignore_patterns(".git", "docs", "*.gif", "*.ipynb"))
    path, folder = top / program.file, top / program.folder
    text = path.read_text("utf-8")
    for old, new in program.edits:
        if old not in text:
            sys.exit(f"{program.name}: {old!r} is not in its text")
        text = text.replace(old, new)
    future = re.search(r"(?m)^from __future__ .*\n", text)
    place = future.end() if future else 0
    path.write_text(text[:place] + SEED + text[place:], "utf-8")
    for each in program.data:
        kind, _, where = each.partition(":")
        getattr(breadth_data, kind)(folder / where)
    return folder


def run(program: Program, tree: Path, *, rehearsed: bool, timeout: float) -> Run:
    with tempfile.TemporaryDirectory(prefix="breadth-") as temporary:
        into = Path(temporary)
        folder = prepared(program, tree, into)
        device = "cuda" if rehearsed else "cpu"
        said = program.arguments.replace("{device}", device)
        said = re.sub(r"\{cuda:([^}]*)\}", r"\1" if rehearsed else "", said)
        words = [os.path.relpath(into / tree.name / program.file, folder), *shlex.split(said)]
        report = into / "report.json"
        options = ["-m", "tonumpy", "rehearse", "--output-format", "json", "-o", str(report), "--"]
        command = [sys.executable, *(options if rehearsed else []), *words]
        paths = os.pathsep.join([str(into / tree.name), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, timeout=timeout, capture_output=True, check=False
            )
            output, errors, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            output, errors, code = error.stdout or b"", error.stderr or b"", -999
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = json.loads(report.read_text("utf-8")) if rehearsed and report.exists() else []
        text = re.sub(r"\r", "\n", output.decode("utf-8", "replace"))
        own, told = _parted(text) if rehearsed else (text, "")
        wrong = errors.decode("utf-8", "replace").strip().splitlines()
        if rehearsed and code != -999:
            code = _code(told, code)
        places = tuple(f"{each['code']} {Path(each['filename']).name}:{each['location']['row']}" for each in found)
        losses = LOSS.findall(own) or LOSS.findall("\n".join(wrong))
        last = wrong[-1:] or own.strip().splitlines()[-1:]
        return Run(code, losses[-1] if losses else "", seconds, places, (last or [""])[0][:200])


def _parted(text: str) -> tuple[str, str]:
    """What the program has written, and what tonumpy tells of it."""
    lines = text.rstrip("\n").split("\n")
    begins = ("Saw ", "No conversion", "[*]", "All ", "The ", "Not ")
    place = len(lines)
    while place and (lines[place - 1].startswith(begins) or re.match(r"\d+ (of|more|child)", lines[place - 1])):
        place -= 1
    return "\n".join(lines[:place]), "\n".join(lines[place:])


def _code(told: str, code: int) -> int:
    """How the program itself ended."""
    found = re.search(r"The program ended with exit code (\d+)", told)
    if found:
        return int(found[1])
    return 1 if re.search(r"The program ended with [A-Z]", told) else code


def same_loss(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        first, second = float(one), float(other)
    except ValueError:
        return False
    return abs(first - second) <= 2e-3 * max(abs(first), abs(second)) + 1e-6


def page(results: dict[str, Any], chosen: list[Program]) -> str:
    rows, ratios, ends, losses, told = [], [], 0, 0, 0
    for program in chosen:
        if program.name not in results:
            continue
        plain, there = (Run(**results[program.name][way]) for way in ("plain", "rehearsed"))
        is_same_end, is_same_loss = plain.code == there.code, same_loss(plain.loss, there.loss)
        ends, losses, told = ends + is_same_end, losses + is_same_loss, told + len(there.findings)
        ratios.append(there.seconds / plain.seconds)
        loss = f"{plain.loss or '-'}" if is_same_loss else f"{plain.loss or '-'}, then {there.loss or '-'}"
        end = str(plain.code) if is_same_end else f"{plain.code}, then {there.code}"
        url = f"https://github.com/{program.repository}/blob/{program.commit}/{program.file}"
        findings = ", ".join(there.findings) or "none"
        shown = f"[{program.repository.partition('/')[2]}/{program.file}]({url})"
        given = f"`{program.arguments}`" if program.arguments else ""
        rows.append(f"| {shown} | {given} | {end} | {loss} | {findings} | {plain.seconds:.1f} s | {ratios[-1]:.1f} |\n")
    ratios.sort()
    versions = [f"Python {sys.version.split()[0]}", f"torch {version('torch')}"]
    versions += [f"{name} {version(name)}" for name in PACKAGES if _is_installed(name)]
    count, middle = len(rows), ratios[len(ratios) // 2]
    head = f"""# Public programs, rehearsed

`python scripts/measure_breadth.py` ran {count} public programs, each plain and then with `tonumpy rehearse`, on a
machine without a GPU, on {datetime.date.today().isoformat()}: {", ".join(versions)}.
`scripts/breadth.toml` says what of them was changed for both runs, mostly how long they go on; the small data is made
by the script, and a line that seeds is put before each program, so rows are one higher than in the repository.

{ends} of {count} ended with the same exit code, {losses} with the same last loss; {told} findings were told. The time
of the processor, from the start of Python to its end, was {ratios[0]:.1f} to {ratios[-1]:.1f} times that of the plain
run, and in half of them at most {middle:.1f}.

| program | arguments | exit code | last loss | findings | plain | rehearsed, times that |
|---|---|---|---|---|---|---|
"""
    return head + "".join(rows)


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except ModuleNotFoundError:
        return False
    return True


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "tonumpy-breadth")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--page", nargs="?", type=Path, const=PAGE, help="write the page, to this file")
    parser.add_argument("--table", type=Path, default=HERE / "breadth.toml")
    parser.add_argument("--timeout", type=float, default=900, help="seconds, as they pass")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    kept = arguments.work / "results.json"
    results = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    every = programs(arguments.table)
    for program in every:
        if arguments.only and not any(word in program.name for word in arguments.only):
            continue
        if program.name in results and not arguments.again:
            continue
        tree = tree_of(program, arguments.clones, arguments.work)
        both = {
            way: run(program, tree, rehearsed=way == "rehearsed", timeout=arguments.timeout)
            for way in ("plain", "rehearsed")
        }
        results = json.loads(kept.read_text("utf-8")) if kept.exists() else {}  # another may run beside this one
        results[program.name] = {way: each._asdict() for way, each in both.items()}
        kept.write_text(json.dumps(results, indent=1), "utf-8")
        plain, there = both["plain"], both["rehearsed"]
        is_same = plain.code == there.code and same_loss(plain.loss, there.loss)
        print(
            f"{'ok' if is_same else 'DIFFERS'} {program.name}: exit {plain.code} {there.code}, loss {plain.loss}"
            f" {there.loss}, {plain.seconds:.1f} s, {there.seconds / plain.seconds:.2f} times, {there.findings}"
            f"{'' if is_same and not plain.code else f' | {plain.said} | {there.said}'}",
            flush=True,
        )
    if arguments.page:
        arguments.page.write_text(page(results, every), "utf-8")


if __name__ == "__main__":
    main()
