"""What notebooks show of the three things that are taken for granted in them; the figures of docs/notebooks.md.

    python scripts/measure_notebooks.py FOLDER...

Nothing is run: what the kernel did stands in the notebooks, as the execution counts of their cells.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from tonumpy.text.notebook_json import NotReadError, read_document

_BINDS_DEVICE = re.compile(r"^device\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
_NAMES_DEVICE = re.compile(r"(?<![\w.\"'])device\b(?!\s*=)")
_LEAVES_GRAD_MODE_OFF = re.compile(r"^torch\.(?:autograd\.)?set_grad_enabled\(False", re.MULTILINE)


def look_at(path: Path, counts: Counter[str]) -> None:
    text = path.read_text("utf-8", errors="replace")
    try:
        cells = [cell.source for cell in read_document(text).cells]
        executed = [cell.get("execution_count") for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (NotReadError, ValueError, KeyError):
        return
    if not any("torch" in cell for cell in cells):
        return
    counts["notebooks that name torch"] += 1
    order = [count for count in executed if isinstance(count, int)]
    if len(order) > 1:
        counts["with the counts of several runs of cells"] += 1
        counts["... which rise from cell to cell"] += order == sorted(order)
    binding = [number for number, cell in enumerate(cells) if _BINDS_DEVICE.search(cell)]
    if binding:
        counts["that bind `device` at the margin"] += 1
        counts["... in one cell only"] += len(binding) == 1
        named = [number for number, cell in enumerate(cells) if _NAMES_DEVICE.search(cell)]
        counts["... before any cell that names it"] += not named or binding[0] <= named[0]
    counts["that turn grad mode off for the cells to come"] += any(map(_LEAVES_GRAD_MODE_OFF.search, cells))


def main(folders: list[str]) -> int:
    counts: Counter[str] = Counter()
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.ipynb")):
            look_at(path, counts)
    for what, count in counts.items():
        print(f"{count:6} {what}")
    return 0 if counts else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
