"""The named blocks of README.md, or of a page of docs: `<!-- block: NAME -->` stands above each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def block(name: str, page: str = "README.md") -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^<!-- block: {name} -->\n```\w+\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return str(found)
