"""Draws docs/rehearsal.svg: what `tonumpy rehearse` shows of the program of docs/rehearsal.md in a terminal.

    python scripts/draw_rehearsal.py [FILE]

FILE is another one that it is drawn to. It needs torch, for it runs the program.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
COLOURS = {"1;31": "#e06c75", "1;32": "#98c379", "1;34": "#61afef", "36": "#56b6c2", "1": "#ffffff", "2": "#7f848e"}
FONT, LINE, WIDTH, MARGIN = 13, 18, 7.83, 14  # pixels: of a letter, from line to line, of a cell, around


def program() -> str:
    (text,) = re.findall(r"<!-- block: program -->\n```python\n(.*?)^```$", _page(), flags=re.MULTILINE | re.DOTALL)
    return str(text)


def _page() -> str:
    return (DOCS / "rehearsal.md").read_text("utf-8")


def screen() -> str:
    """What a terminal shows, with its colours."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "learn.py").write_text(program(), "utf-8")
        command = [sys.executable, "-m", "tonumpy", "rehearse", "--color", "always", "--output-format", "full"]
        run = subprocess.run([*command, "--", "learn.py"], cwd=folder, capture_output=True, text=True, check=False)
        shown = f"$ tonumpy rehearse -- learn.py\n{run.stderr}{run.stdout}"
        return shown.replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "")


def drawn(text: str) -> str:
    lines = text.splitlines()
    cells = max(len(re.sub(r"\033\[[0-9;]*m", "", line)) for line in lines)
    width, height = round(cells * WIDTH) + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{MARGIN + FONT + LINE * number}" xml:space="preserve">{_coloured(line)}</text>'
        for number, line in enumerate(lines)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{FONT}" fill="#dcdfe4">'
    )
    box = f'<rect width="{width}" height="{height}" rx="8" fill="#1e2127"/>'
    return "\n".join((head, box, *rows, "</svg>", ""))


def _coloured(line: str) -> str:
    parts, colour = [], ""
    for number, part in enumerate(re.split(r"\033\[([0-9;]*)m", line)):
        if number % 2:
            colour = COLOURS.get(part, "")
        elif part:
            text = escape(part, quote=False)
            parts.append(f'<tspan fill="{colour}">{text}</tspan>' if colour else text)
    return "".join(parts)


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "rehearsal.svg"
    output.write_text(drawn(screen()), "utf-8")
