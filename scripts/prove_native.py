"""That a native tonumpy says the same as a pure one, to the byte, and what CPU each takes.

    python scripts/prove_native.py [--native FOLDER] TREE...

Native is what is installed for this Python, or what `build_native.py` has made in FOLDER; pure are the sources here.
Each tree is checked by both, at low confidence: findings, fixes, evidence and errors. Ends with 1 where they differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[1] / "src"
OPTIONS = "--isolated --no-cache --jobs 1 --exit-zero --confidence low --output-format json".split()


class Answer(NamedTuple):
    said: tuple[int, bytes, bytes]  # the exit code, and what is written to both streams
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", type=Path)
    parser.add_argument("trees", nargs="+", type=Path)
    arguments = parser.parse_args()
    native = [] if arguments.native is None else [arguments.native.resolve()]
    if b"(native)" not in _run(native, "--version").said[1]:
        print("this tonumpy is not native", file=sys.stderr)
        return 2
    differ = 0
    for tree in arguments.trees:
        compiled, pure = (_run(path, "check", *OPTIONS, str(tree.resolve())) for path in (native, [SOURCES]))
        is_same = compiled.said == pure.said
        differ += not is_same
        cpu = f"{pure.cpu:.2f} s pure, {compiled.cpu:.2f} s native"
        print(f"{tree}: {'the same' if is_same else 'DIFFERENT'}, {len(pure.said[1])} bytes; {cpu}", flush=True)
    return differ > 0


def _run(path: list[Path], *command: str) -> Answer:
    """What the command says with these folders before all that is installed, in an empty folder."""
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
        program = [sys.executable, "-m", "tonumpy", *command]
        done = subprocess.run(program, cwd=folder, env=environment, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Answer((done.returncode, done.stdout, done.stderr), cpu)


if __name__ == "__main__":
    sys.exit(main())
