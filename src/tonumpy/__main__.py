"""Runs the command for `tonumpy` and `python -m tonumpy`."""

from __future__ import annotations

# Built in: until `signal` is imported, an interrupt would print a traceback.
import _signal  # type: ignore[import-not-found]
import os
import sys


def _end_at_once(number: int, _: object) -> None:
    os.write(2, b"tonumpy: interrupted\n")
    os._exit(128 + number)


for _name in ("SIGINT", "SIGTERM", "SIGHUP"):
    _number = getattr(_signal, _name, None)
    if _number is not None and _signal.getsignal(_number) in (_signal.SIG_DFL, _signal.default_int_handler):
        _signal.signal(_number, _end_at_once)


def run() -> int:
    """Run the command and return the exit code; an interrupted program exits here, without waiting for anything."""
    from tonumpy.boundary.signals import raised  # start-up: an interrupt is quiet by now

    with raised(_end_at_once) as signals:
        try:
            from tonumpy.cli.main import main  # the same: start-up

            code = main()
        except KeyboardInterrupt:
            code = signals.code
        if signals.number:
            signals.tell()
            os._exit(code)
        return code


if __name__ == "__main__":
    sys.exit(run())
