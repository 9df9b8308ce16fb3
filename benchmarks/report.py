"""Writes the medians that were measured as a page of Markdown with tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
