"""Shows a run while it goes on: repositories done, findings so far, the rate and the time left."""

from __future__ import annotations

import sys
from time import monotonic

from tqdm import tqdm

_INTERVAL = 30.0  # seconds between two lines where there is no terminal


class Progress:
    """A bar on a terminal; a line now and then elsewhere; nothing at all where none is wanted."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        tqdm.monitor_interval = 0
        self._bar = None
        if not quiet and sys.stderr.isatty():
            self._bar = tqdm(total=total, unit="repository", dynamic_ncols=True)
        self._total, self._quiet = total, quiet
        self._repositories = self._findings = 0
        self._start = self._said = monotonic()

    def step(self, findings: int) -> None:
        self._repositories += 1
        self._findings += findings
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._findings} findings", refresh=False)
            self._bar.update()
        elif not self._quiet and monotonic() - self._said > _INTERVAL:
            self._said = monotonic()
            left = (self._said - self._start) / self._repositories * (self._total - self._repositories)
            done = f"{self._repositories} of {self._total} repositories, {self._findings} findings"
            print(f"tonumpy: {done}, {left:.0f} s left", file=sys.stderr)

    def say(self, text: str) -> None:
        if not self._quiet:
            tqdm.write(f"tonumpy: {text}", file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
