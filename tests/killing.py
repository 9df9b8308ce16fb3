"""`tonumpy fix` killed at random moments, and what must hold of the files afterwards."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
_TEMPORARY = ".tonumpy-*"
_FOLDERS = 12
_MODULE = """\
import torch

NUMBER = {number}


def first(x: torch.Tensor):
    return x.numpy()
"""


class Tree:
    """A folder of files to repair, and what each of them holds before and after."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.old = {folder / f"d{each % _FOLDERS}" / f"m{each}.py": _text(each) for each in range(count)}
        for path, data in self.old.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        begun = time.monotonic()
        process = self.fix()
        self.until_written = self._wait_for_the_first(process) - begun
        _, said = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"`tonumpy fix` did not repair the files: {os.fsdecode(said)}")
        self.seconds = time.monotonic() - begun
        self.new = {path: path.read_bytes() for path in self.old}
        if any(self.new[path] == data for path, data in self.old.items()):
            raise RuntimeError("`tonumpy fix` left a file as it was")
        self.restore()

    def fix(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tonumpy", "fix", "--unsafe-fixes", "--isolated", "--quiet", "--jobs=1", "."]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def restore(self) -> None:
        for path, data in self.old.items():
            if path.read_bytes() != data:
                path.write_bytes(data)

    def left_behind(self) -> list[Path]:
        return list(self.folder.rglob(_TEMPORARY))

    def _wait_for_the_first(self, process: subprocess.Popen[bytes]) -> float:
        """Until a file has been written; the first is the first in the order of the names."""
        first = min(self.old, key=lambda path: str(path.relative_to(self.folder)))
        known = first.stat().st_ino
        while process.poll() is None and first.stat().st_ino == known:
            time.sleep(0.001)
        return time.monotonic()

    def wait(self, process: subprocess.Popen[bytes], choice: random.Random) -> None:
        """Until a random moment: half of the time one of the whole run, else one of the time when files are written."""
        if choice.random() < 0.5:
            time.sleep(choice.uniform(0, self.seconds))
        else:
            self._wait_for_the_first(process)
            time.sleep(choice.uniform(0, self.seconds - self.until_written))


def _text(number: int) -> bytes:
    return _MODULE.format(number=number).encode()


class Round(NamedTuple):
    """What was found after a run: `wrong` is what must not be, `repaired` how many of the files were repaired."""

    wrong: list[str]
    repaired: int
    left: int  # temporary files


def killed(tree: Tree, number: int) -> Round:
    """One run that is killed."""
    choice = random.Random(number)
    sent = SIGNALS[number % len(SIGNALS)]
    process = tree.fix()
    tree.wait(process, choice)
    process.send_signal(sent)
    said = process.communicate()[1].decode(errors="replace")
    found = found_in(tree)
    found.wrong.extend(_wrong_words(sent, process.returncode, said, found, len(tree.old)))
    for left in tree.left_behind():  # by SIGKILL, which nobody can answer
        left.unlink()
    return found


def finished(tree: Tree) -> list[str]:
    """What is wrong after a run that nobody disturbs: a file that is not repaired, or one left behind."""
    process = tree.fix()
    said = process.communicate()[1].decode(errors="replace")
    wrong = [f"ended with {process.returncode}: {said}"] if process.returncode else []
    wrong += [f"not repaired: {path}" for path, data in tree.new.items() if not path.read_bytes().startswith(data)]
    return wrong + [f"left behind: {path}" for path in tree.left_behind()]


def found_in(tree: Tree) -> Round:
    wrong, repaired = [], 0
    for path, old in tree.old.items():
        data = path.read_bytes()
        if data not in (old, tree.new[path]):
            wrong.append(f"neither the old file nor the new one: {path}: {data!r}")
        repaired += data == tree.new[path]
    return Round(wrong, repaired, len(tree.left_behind()))


def _wrong_words(sent: signal.Signals, code: int, said: str, found: Round, total: int) -> list[str]:
    """A signal that is not KILL is told, and leaves nothing behind."""
    if sent is signal.SIGKILL or (code == 0 and found.repaired == total):
        return []
    wrong = [f"{found.left} temporary files after {sent.name}"] if found.left else []
    if 0 < found.repaired < total and "interrupted" not in said:
        wrong.append(f"{sent.name}, but it said {said!r}")
    return wrong


class Campaign(NamedTuple):
    """The sum of many rounds."""

    kills: Counter[str]
    moments: Counter[str]
    left: int
    wrong: list[str]

    @classmethod
    def nothing(cls) -> Campaign:
        return cls(Counter(), Counter(), 0, [])

    def plus(self, other: Campaign) -> Campaign:
        return Campaign(*(one + another for one, another in zip(self, other, strict=True)))


def campaign(tree: Tree, rounds: range, undisturbed: int = 20) -> Campaign:
    """A run in `undisturbed` is not killed; after it nothing may be left behind."""
    kills: Counter[str] = Counter()
    moments: Counter[str] = Counter()
    wrong: list[str] = []
    left = 0
    for number in rounds:
        found = killed(tree, number)
        kills[SIGNALS[number % len(SIGNALS)].name] += 1
        moments["before" if not found.repaired else "while" if found.repaired < len(tree.old) else "after"] += 1
        wrong += [f"round {number}: {each}" for each in found.wrong]
        left += found.left
        if (number + 1) % undisturbed == 0 or number == rounds[-1]:
            wrong += [f"after round {number}: {each}" for each in finished(tree)]
        tree.restore()
    return Campaign(kills, moments, left, wrong)
