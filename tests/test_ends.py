"""A program ends under a rehearsal whenever it ends without, whatever is still alive then, and in the same way."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch
from time_limits import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

THREADS = """\
import asyncio, atexit, socket, threading, time, weakref
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
import torch

atexit.register(lambda: print("atexit:", torch.ones(2, device=device).sum().item()))
device = "cuda" if torch.cuda.is_available() else "cpu"
pool = ThreadPoolExecutor(2)
print("pool:", pool.submit(len, "abc").result())

def worker(jobs):
    while True:
        job = jobs.get()
        torch.ones(2, device=device).add(job)

jobs = Queue()
threading.Thread(target=worker, args=(jobs,), daemon=True).start()
jobs.put(1)
threading.Timer(0.3, lambda: print("timer:", torch.ones(3, device=device).sum().item())).start()
listening = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=listening.accept, daemon=True).start()

def later():
    time.sleep(0.5)
    print("thread:", torch.ones(4, device=device).sum().item())

threading.Thread(target=later).start()
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
print("loop:", asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 5), loop).result())
unfinished = asyncio.new_event_loop().create_future()
weakref.finalize(unfinished, print, "finalizer")
x = torch.ones(2, device=device, requires_grad=True)
x.sum().backward()
print("end")
"""
PROCESSES = """\
import multiprocessing, subprocess, sys, time
from concurrent.futures import ProcessPoolExecutor
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

def forever(queue):
    queue.put("started")
    time.sleep(1000)

def put(queue):
    queue.put(b"0" * 200_000)  # more than a pipe holds; tensors would need the child alive, until they are read

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.ones(2) * index

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(1, mp_context=context)
    print("pool:", pool.submit(len, "abc").result())
    queue = context.Queue()
    context.Process(target=forever, args=(queue,), daemon=True).start()
    print(queue.get())
    manager = context.Manager()
    print("manager:", len(manager.list([1, 2])))
    full = context.Queue()
    child = context.Process(target=put, args=(full,))
    child.start()
    print("fed:", len(full.get()))
    left = context.Pool(1)
    print("left:", left.apply(len, ("ab",)))
    loader = torch.utils.data.DataLoader(Numbers(), num_workers=1, persistent_workers=True)
    batches = iter(loader)
    print("batch:", next(batches).to(device).sum().item())
    asleep = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"])
    print("end", flush=True)
"""
RAISES = """\
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
import torch

pool = ThreadPoolExecutor(1)
pool.submit(len, "abc").result()
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
atexit.register(print, "atexit")
1 / 0
"""
LEAVES = """\
import os, sys, threading, time
import torch

threading.Thread(target=lambda: (time.sleep(0.3), print("thread", flush=True))).start()
if os.fork() == 0:
    sys.exit(7)
print("child:", os.waitstatus_to_exitcode(os.wait()[1]))
sys.exit(5)
"""
BUSY = """\
import threading, time
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

def work():
    while True:
        torch.ones(2, device=device).add(1).cpu()
        time.sleep(0.002)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""


def _run(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"),
    [(THREADS, 0), (PROCESSES, 0), (RAISES, 1), (LEAVES, 5), (BUSY, 0)],
    ids=["threads", "processes", "raises", "exits", "busy daemons"],
)
def test_a_program_ends_as_it_does_alone(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "program.py").write_text(text)
    # A thread that is inside torch when Python ends may abort the program; on a busy machine one in some ten does.
    alone = next((run for _ in range(5) if (run := _run(tmp_path, "program.py"))[0] == code), None)
    rehearsed = _run(tmp_path, "-m", "tonumpy", "rehearse", "-o", "report.txt", "-q", "program.py")
    assert alone is not None
    assert rehearsed == alone
