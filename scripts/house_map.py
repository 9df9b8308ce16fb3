"""Prints the map of the source: each package with its modules, lines, who imports it, and the cycles among its modules.

    python scripts/house_map.py [FOLDER]

Imports inside functions and those for types alone count as any other. FOLDER is the source to look at, such as
that of an older commit; by default `src/tonumpy`.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "tonumpy"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE)
    folder = parser.parse_args().folder
    modules = {_name_of(path, folder): path for path in sorted(folder.rglob("*.py"))}
    edges = {module: _imported_by(path, modules, folder.name) - {module} for module, path in modules.items()}
    knots = [knot for knot in _knots(edges) if len(knot) > 1]
    print(f"{'package':<32}{'modules':>8}{'lines':>8}{'longest':>9}{'fan-in':>8}{'in cycles':>11}")
    for package in sorted({_package_of(module) for module in modules}):
        inside = [module for module in modules if _package_of(module) == package]
        lengths = [len(modules[module].read_text(encoding="utf-8").splitlines()) for module in inside]
        fan_in = {module for module, seen in edges.items() if _package_of(module) != package and seen & {*inside}}
        tied = sum(module in knot for knot in knots for module in inside)
        row = (len(inside), sum(lengths), max(lengths), len(fan_in), tied)
        print(f"{package:<32}" + "".join(f"{each:>{width}}" for each, width in zip(row, (8, 8, 9, 8, 11), strict=True)))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules.values())
    print(f"{len(modules)} modules, {lines} lines, {sum(map(len, knots))} modules in {len(knots)} cycles")
    for knot in knots:
        print(f"cycle of {len(knot)}: {' '.join(sorted(knot))}")


def _name_of(path: Path, folder: Path) -> str:
    return ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")


def _package_of(module: str) -> str:
    return module.rpartition(".")[0] or module


def _imported_by(path: Path, modules: dict[str, Path], root: str) -> set[str]:
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {each for each in found if each in modules and each != root}


def _knots(edges: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected parts: modules each of which imports each other, directly or not."""
    reached = {module: _reached(module, edges) for module in edges}
    found: list[set[str]] = []
    for module in edges:
        if not any(module in knot for knot in found):
            found.append({other for other in reached[module] if module in reached[other]} | {module})
    return found


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in edges[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


if __name__ == "__main__":
    main()
