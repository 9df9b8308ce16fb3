"""A real headless Chromium, driven over the WebDriver protocol; skipped and counted where there is none."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from time_limits import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium or chromedriver is missing")

_FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1280,900
""".split()
_HERE = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever proxy the environment names


class Browser:
    """One window."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, {"Content-Type": "application/json"})
        with _HERE.open(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        self.ask("/url", {"url": url})

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401
        """What a script returns, or the promise that it returns comes to."""
        return self.ask("/execute/sync", {"script": script, "args": arguments})

    def type(self, *keys: str) -> None:
        """On the keyboard, to whatever has the focus; a modifier (`\ue008`) holds until the next key is up."""
        actions: list[dict[str, str]] = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
        self.run("return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def log(self) -> list[dict[str, Any]]:
        """What the console and the network have complained of since it was last asked."""
        return list(self.ask("/se/log", {"type": "browser"}))

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("/screenshot")))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    assert DRIVER is not None
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert driver.stdout is not None
    try:
        port = next(found[1] for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        options = {"binary": CHROMIUM, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        window = Browser(f"http://127.0.0.1:{port}")
        session = window.ask("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        window = Browser(f"http://127.0.0.1:{port}/session/{session}")
        try:
            yield window
        finally:
            request = urllib.request.Request(f"http://127.0.0.1:{port}/session/{session}", method="DELETE")
            _HERE.open(request, timeout=PATIENCE).close()
    finally:
        driver.terminate()
        driver.wait(PATIENCE)
        driver.stdout.close()
