"""The HTML report as somebody reads it: opened in a real browser, filtered, searched and gone through by keyboard."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from browser import Browser, browser, needs_browser

from tonumpy.findings import Edit, Finding, Fix, Position, SourceError
from tonumpy.report import Report
from tonumpy.report.html import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunTonumpy

# More than a byte and more than a UTF-16 unit a character before the finding, and what HTML takes for its own.
SAFE = """\
import torch


def f(x: torch.Tensor):
    "</script><!-- <b> 😀é"
    return "😀é", x.numpy()
"""
UNSAFE = "import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n"
SPLIT = "import torch\n\n\ndef f(x: torch.Tensor):\n    return (\n        x\n        .numpy()\n    )\n"


@pytest.fixture
def page(tmp_path: Path, run_tonumpy: RunTonumpy) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "safe.py").write_text(SAFE, encoding="utf-8")
    (tmp_path / "src" / "deep" / "split.py").write_text(SPLIT)
    (tmp_path / "unsafe.py").write_text(UNSAFE)
    (tmp_path / "broken<i>.py").write_text("import torch\nx.numpy(\n")
    result = run_tonumpy("check", "--output-format", "html", ".")
    assert result.code == 2
    (tmp_path / "report.html").write_bytes(result.out_bytes)
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_the_page_holds_all_that_it_needs(page: Path) -> None:
    text = page.read_text("utf-8")
    assert re.findall(r"(?:src|href)=[\"'](?!#)", text) == []
    assert "default-src 'none'" in text
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    found = json.loads(data)["findings"]
    assert [(each["code"], each["kind"]) for each in found] == [
        ("TNP101", "safe"),
        ("TNP101", "safe"),
        ("TNP101", "unsafe"),
    ]
    assert "broken&lt;i&gt;.py:2:8: cannot be parsed" in text
    assert "1 file could not be processed. Found 3 findings in 3 files." in text


def test_a_file_that_has_gone_has_no_frame() -> None:
    fix = Fix("safe", "Add it", (Edit(Position(9, 1), Position(9, 1), "x"),))
    finding = Finding("gone.py", "TNP101", "message", Position(9, 1), Position(9, 2), fix)
    assert '"frame":[' not in render(Report([finding], []), colour=False)
    assert "All checks passed!" in render(Report([], []), colour=False)
    assert "caf\\udce9.py" in render(Report([], [SourceError("caf\udce9.py", "No such file")]), colour=False)


@needs_browser
def test_it_is_read_in_a_browser_and_by_keyboard(page: Path, window: Browser, tmp_path: Path) -> None:
    window.open(page.as_uri())
    assert window.log() == []
    places = "return [...document.querySelectorAll('.finding .place')].map((each) => each.textContent)"
    everything = ["src/deep/split.py:7:10", "src/safe.py:6:20", "unsafe.py:5:14"]
    assert window.run(places) == everything
    assert window.run("return document.querySelector('.errors li').textContent").startswith("broken<i>.py:2:8: cannot")

    # `j` goes to a finding, Enter opens it: its code, marked to the character, and its patch
    window.type("j", "j", "\ue007")
    body = "return [...document.querySelectorAll('.finding[open] {}')].map((each) => each.textContent)"
    assert window.run(body.replace("{}", "mark")) == ["numpy()"]
    assert window.run(body.replace("{}", ".gone bdi")) == ['    return "😀é", x.numpy()']
    assert window.run(body.replace("{}", ".come bdi")) == ['    return "😀é", x.detach().cpu().numpy()']
    assert '    "</script><!-- <b> 😀é"' in window.run(body.replace("{}", ".frame bdi"))
    window.type("k", "\ue007")
    assert window.run(body.replace("{}", ".come bdi"))[:2] == ["        .detach()", "        .cpu()"]
    window.screenshot(tmp_path / "light.png")

    # what the code rests on stands there, too
    assert (
        window.run("return [...document.querySelectorAll('.tag.confidence')].map((each) => each.textContent)")
        == ["medium confidence"] * 3
    )

    # `/` goes to the search
    window.type("/", *"unsafe.py")
    window.run("return new Promise((done) => setTimeout(done, 200))")  # it waits for the end of a word
    assert window.run(places) == ["unsafe.py:5:14"]
    assert window.run("return document.getElementById('count').value") == "1 of 3 findings"
    window.run("document.getElementById('clear').click()")
    assert window.run(places) == everything

    # the bars of a plot are buttons, and what is asked for stands in the address
    window.run("document.querySelector('#by-folder [data-folder=src]').focus()")
    window.type(" ")
    assert window.run(places) == everything[1:2]
    assert window.run("return location.hash") == "#folder=src"
    assert window.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    window.type(" ")
    assert window.run(places) == everything
    window.run("const fix = document.getElementById('ask-fix'); fix.value = 'unsafe';")
    window.run("document.getElementById('ask-fix').dispatchEvent(new Event('change'))")
    assert window.run(places) == everything[2:]
    window.run("location.reload()")
    assert window.run(places) == everything[2:]

    # everything that can be done is in the order of the tabulator
    window.run("document.getElementById('clear').click(); document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = []
    for _ in range(20):
        window.type("\ue004")
        reached.append(window.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
    asked = ("ask-text", "ask-rule", "ask-folder", "ask-fix", "ask-confidence")
    for control in ("skip", "theme", "bar", *asked, "clear", "SUMMARY"):
        assert control in reached, reached

    colour = "return getComputedStyle(document.body).backgroundColor"
    colours = set()
    for _ in range(3):
        window.run("document.getElementById('theme').click()")
        colours.add((window.run("return document.getElementById('theme').textContent"), window.run(colour)))
    assert ("Theme: light", "rgb(255, 255, 255)") in colours
    assert ("Theme: dark", "rgb(20, 23, 28)") in colours
    assert window.log() == []


@needs_browser
def test_ten_thousand_findings_do_not_freeze_it(tmp_path: Path, window: Browser) -> None:
    (tmp_path / "module.py").write_text(UNSAFE * 2000)
    findings = [
        Finding(
            f"package_{number % 40}/module_{number % 500}.py" if number % 10 else str(tmp_path / "module.py"),
            f"TNP10{1 + number % 7}",
            f"message {number}",
            Position(5 * (number % 2000) + 5, 14),
            Position(5 * (number % 2000) + 5, 21),
            Fix("safe", "Add `.detach()`", ()),
        )
        for number in range(10_000)
    ]
    (tmp_path / "report.html").write_text(render(Report(findings, []), colour=False), encoding="utf-8")
    window.open((tmp_path / "report.html").as_uri())
    # the longest that the page does not answer while it is loaded, searched, filtered and scrolled down
    worst = window.run("""
        const times = [performance.getEntriesByType("navigation")[0].domComplete];
        const time = (work) => { const start = performance.now(); work(); document.body.offsetHeight;
                                 times.push(performance.now() - start); };
        time(() => ask("text", "message 77"));
        time(() => ask("text", ""));
        time(() => ask("rule", "TNP103"));
        time(() => ask("rule", ""));
        return new Promise((done) => {
          let jumps = 0;
          function jump() {
            time(() => window.scrollTo(0, document.body.scrollHeight));
            const shown = document.querySelectorAll(".finding").length;
            if (++jumps === 200 || shown >= 1000) done([times.map(Math.round), shown]);
            else requestAnimationFrame(() => setTimeout(jump, 0));
          }
          jump();
        });
    """)
    times, shown = worst
    assert shown >= 1_000
    assert max(times) < 3_000, times
