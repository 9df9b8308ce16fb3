"""The options of `tonumpy rehearse`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

DEVICES = ("cuda", "mps", "xpu", "npu")
MOST_DEVICES = 64
_EPILOG = """\
This runs the program, with your own torch, in a process of its own. `--` may be left out:
  tonumpy rehearse -- train.py --epochs 1
  tonumpy rehearse --fix -- -m package.train
  tonumpy rehearse -- -m pytest tests

What the program prints goes to standard error, and the report to standard output; with -o FILE the report goes there,
and the program prints where it always does.

exit codes:
  0  nothing that ran would fail
  1  findings are left
  2  the program could not be started, a process with torch not be rehearsed, a file not be repaired, or the command is
     wrong
  and where there is nothing else to say, that of the program: 128 and the signal's number if one ended it"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tonumpy rehearse [options] -- SCRIPT ARG...\n       tonumpy rehearse [options] -- -m MODULE ARG..."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--device", choices=DEVICES, default="cuda", help="what the stand-in accelerator is called (default: cuda)"
    )
    parser.add_argument(
        "--devices", type=device_count, default=1, metavar="N", help="how many there are of it, as of GPUs (default: 1)"
    )
    parser.add_argument("--stop", action="store_true", help="raise at the first refused conversion, as hardware does")
    parser.add_argument("--fix", action="store_true", help="repair what was seen to fail, and run the program again")
    parser.add_argument("--diff", action="store_true", help="with --fix: write nothing, show what would change")
    parser.add_argument(
        "--fragile", action="store_true", help="also report what only torch.no_grad() around it keeps from failing"
    )
    parser.add_argument(
        "--observations", metavar="FILE", help="add what was seen to this record, for `tonumpy check --observed FILE`"
    )
    parser.add_argument("--unreached", action="store_true", help="list the conversions that did not run")


def device_count(text: str) -> int:
    """Parse the value of `--devices`; ArgumentTypeError if it is out of range."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DEVICES:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MOST_DEVICES} is wanted, not {text!r}")
    return int(text)


def program_at(words: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """The index of the word at which the program begins: `--`, `-m`, or the first that is neither an option nor an
    option's value."""
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("--", "-m") or not word.startswith("-"):
            return at
        action = parser._option_string_actions.get(word)
        at += 2 if action is not None and action.nargs is None else 1
    return at
