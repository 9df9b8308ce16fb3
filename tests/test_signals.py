"""A signal ends the command at once: it says so, and leaves no process and no half-written file."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from time_limits import PATIENCE, under_load

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SLOW = "import torch\n\n\nclass A:\n" + "".join(
    f"    def f{j}(self, x):\n        y = self.f{max(j - 1, 0)}(x)\n        return y.cpu().numpy()\n\n"
    for j in range(90)
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many files that several processes have work for minutes."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(200):
        (folder / f"m{number}.py").write_text(SLOW)
    return folder


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    def answer_signals() -> None:  # a shell starts what runs in the background with interrupts ignored
        for number in NUMBERS:
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, "-m", "tonumpy", *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=answer_signals,
    )


def left_of(group: int) -> list[psutil.Process]:
    """The processes of a group that still run after a while."""
    end = time.monotonic() + PATIENCE
    while True:
        left = []
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                    left.append(process)
            except (psutil.Error, ProcessLookupError):
                continue
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Once there are workers, and they have something to do."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = psutil.Process(process.pid).children(recursive=True)
        if len(found) > 1 and all(sum(each.cpu_times()[:2]) > 0.1 for each in found):
            return found
        time.sleep(0.02)
    raise AssertionError("no workers")


def wait_for_handlers(process: subprocess.Popen[bytes]) -> None:
    """Until it answers SIGTERM itself."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(1.5)
        return
    while process.poll() is None:
        caught = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.02)


def ended(process: subprocess.Popen[bytes], sent: int) -> None:
    start = time.monotonic()
    assert process.wait(PATIENCE) == 128 + sent
    assert time.monotonic() - start < under_load(5)  # all work takes minutes
    assert process.stderr is not None
    assert process.stderr.read() == b"tonumpy: interrupted\n"
    assert left_of(process.pid) == []


@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize("sent", NUMBERS, ids=lambda each: each.name)
@pytest.mark.parametrize("how", ["once", "twice", "group"])
def test_workers_end_with_the_command(many: Path, command: str, sent: signal.Signals, how: str) -> None:
    with start(many, command, "--no-cache", "--jobs=2", "--isolated") as process:
        workers_of(process)
        (os.killpg if how == "group" else os.kill)(process.pid, sent)
        if how == "twice":
            process.send_signal(sent)
        ended(process, sent)
        assert {path.read_text() for path in many.iterdir()} == {SLOW}


def test_workers_end_when_the_command_is_killed(many: Path) -> None:
    with start(many, "check", "--no-cache", "--jobs=2", "--isolated") as process:
        workers_of(process)
        process.kill()
        process.wait()
        assert left_of(process.pid) == []


@pytest.mark.parametrize("number", range(6))
def test_a_signal_at_any_moment(many: Path, number: int) -> None:
    """Before the program itself begins, Python answers."""
    choice = random.Random(number)
    with start(many, "check", "--no-cache", "--jobs=2", "--isolated") as process:
        time.sleep(choice.uniform(0.3, 1.5))
        sent = choice.choice(NUMBERS)
        os.killpg(process.pid, sent)
        assert process.wait(PATIENCE) in (128 + sent, -sent)
        assert left_of(process.pid) == []


@pytest.mark.parametrize("arguments", [("check", "-"), ("check", "--jobs=1", "--no-cache"), ("server",)])
@pytest.mark.parametrize("sent", NUMBERS, ids=lambda each: each.name)
def test_one_process(many: Path, arguments: tuple[str, ...], sent: signal.Signals) -> None:
    if arguments == ("server",):
        pytest.importorskip("pygls")
    with start(many, *arguments) as process:
        wait_for_handlers(process)
        assert process.poll() is None
        process.send_signal(sent)
        ended(process, sent)


def test_signals_that_are_ignored_stay_so(tmp_path: Path) -> None:
    """As under `nohup`."""
    (tmp_path / "a.py").write_text("import torch\n")
    script = 'trap "" HUP INT; exec "$@"'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "tonumpy", "check", "-"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(b"import torch\n", PATIENCE)
    assert (process.returncode, out) == (0, b"All checks passed!\n")
