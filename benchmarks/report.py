"""Writes the medians that were measured as a page of Markdown with tables, and as a plot in SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from benchmarks.measure import Cost

OURS = "tonumpy check"


class Measured(NamedTuple):
    """One set: what it is, how many files and how many of them hold a candidate, and the median cost of each tool."""

    title: str
    files: int
    candidates: int
    costs: Mapping[str, Cost]


def page(about: Sequence[str], sets: Sequence[Measured], versions: Mapping[str, str]) -> str:
    lines = ["# Benchmarks", "", *about, ""]
    for each in sets:
        lines += [f"## {each.title}", ""]
        if each.files > 1:
            lines += [f"{each.files} files, {each.candidates} of them with `.numpy(`.", ""]
        ours = each.costs[OURS].cpu
        lines += ["| tool | CPU s | ratio | wall s | peak MB |", "|---|---|---|---|---|"]
        for name, cost in each.costs.items():
            figures = (f"{cost.cpu:.3f}", f"{cost.cpu / ours:.2f}", f"{cost.wall:.3f}", f"{cost.memory:.0f}")
            lines.append(f"| {' | '.join((name.replace('|', 'into'), *figures))} |")
        lines.append("")
    lines += ["## Versions", "", *(f"- {name} {version}" for name, version in versions.items()), ""]
    return "\n".join(lines)


ROW, LEFT, WIDTH, TOP = 20, 330, 400, 30


def plot(sets: Sequence[Measured]) -> str:
    """Bars of CPU seconds, a group for each set, on a logarithmic scale that starts at a millisecond."""
    rows: list[str] = []
    most = max(cost.cpu for each in sets for cost in each.costs.values())
    decades = math.ceil(math.log10(most / 0.001))
    at = TOP
    for each in sets:
        rows.append(_text(10, at + 14, each.title, "bold"))
        at += ROW
        for name, cost in each.costs.items():
            width = max(1.0, WIDTH * math.log10(max(cost.cpu, 0.001) / 0.001) / decades)
            colour = "#c2410c" if name.startswith("tonumpy") else "#64748b"
            rows.append(_text(20, at + 14, name, "normal"))
            rows.append(f'<rect x="{LEFT}" y="{at + 3}" width="{width:.1f}" height="{ROW - 6}" fill="{colour}"/>')
            rows.append(_text(LEFT + width + 5, at + 14, f"{cost.cpu:.3g} s", "normal"))
            at += ROW
        at += ROW // 2
    size = f'width="{LEFT + WIDTH + 80}" height="{at + 10}"'
    title = _text(10, 18, "CPU seconds (user and system, median), logarithmic", "normal")
    style = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', style, title, *rows, "</svg>", ""])


def _text(x: float, y: float, words: str, weight: str) -> str:
    look = f'font-family="sans-serif" font-size="12" font-weight="{weight}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {look}>{escape(words)}</text>'
