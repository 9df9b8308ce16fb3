"""docs/verified.md: what runs of the scripts saw, one section for each kind of run and environment."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "docs" / "verified.md"
HEADER = """\
# What was run

Written by `python scripts/verify.py` and `python scripts/fuzz.py`: one section for each environment that they ran in,
in the words of that run.

- truth table: each way to convert, with each sort of tensor, does exactly what the rules rest on.
- executable fixtures: each, as it is and as `tonumpy` repairs it, with each sort of tensor in each grad mode. The
  original raises exactly what is foretold or gives its value; the repaired code gives that value, with its dtype, its
  shape and its memory shared or not, or raises what no repair can do away with. A cell is healed if the original
  raised and the repaired code gives the value.
- functions of all fixtures: after the repair none raises an exception that a repair does away with, and
  none gives another value. Functions of tensors on which `tonumpy` is silent are held to the same.
- random programs: no exception, one fixed point, and no change outside of repairs. A flaw that a run found is mended
  since, and has a test.

The device `toy` is a test device on torch's PrivateUse1 key with host memory behind it.
"""


def put_section(path: Path, title: str, section: str) -> None:
    """Replace the section of that title, or add it, and leave the others."""
    sections = _sections(path) | {title: section}
    text = "".join(f"\n## {title}\n\n{section.rstrip()}\n" for title, section in sorted(sections.items()))
    path.write_text(HEADER + text, "utf-8")


def now() -> str:
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC"


def environment() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def _sections(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    parts = path.read_text("utf-8").split("\n## ")[1:]
    return {title: section for title, _, section in (part.partition("\n\n") for part in parts)}
