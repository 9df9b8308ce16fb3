"""Checks that the package has the version of a tag and links to the repository; exit code 1 where it does not.

python scripts/check_release.py v0.1.0 https://github.com/OWNER/tonumpy
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def problems(tag: str, repository: str) -> list[str]:
    found = []
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.+)"$', project, flags=re.MULTILINE)
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and pyproject.toml says version {version}")
    if f"## {version}\n" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        found.append(f"CHANGELOG.md has no heading `## {version}`; one that is not released yet says so")
    for path in (ROOT / "pyproject.toml", ROOT / "mkdocs.yml", *ROOT.glob("src/**/*.py")):
        text = path.read_text(encoding="utf-8")
        for link in sorted(set(re.findall(r"https://github\.com/[\w.-]+/tonumpy(?![\w-])", text))):
            if link != repository:
                found.append(f"{path.relative_to(ROOT)} links to {link}, and this is {repository}")
    return found


if __name__ == "__main__":
    errors = problems(*sys.argv[1:])
    print("\n".join(errors))
    sys.exit(bool(errors))
