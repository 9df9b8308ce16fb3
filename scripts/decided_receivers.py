"""Print for each folder how many receivers of `.numpy()` it holds, of how many the kind is decided, and why not more.

    python scripts/decided_receivers.py FOLDER... [--reasons N] [--list]

A kind is decided where inference proves a torch tensor (`tensor`), takes the expression's own words for it (`likely`)
or knows that it is something else (`other`). The files are those that `tonumpy check FOLDER` would read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import Configuration
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Tensor, Union, Unknown, Value
from tonumpy.findings import SourceError
from tonumpy.frontends.files import find_files
from tonumpy.inference.summaries.driver import observe
from tonumpy.text.candidates import find_candidates
from tonumpy.text.prefilter import may_hold_candidates
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

DECIDED = ("tensor", "likely", "other")


class Receiver(NamedTuple):
    """One receiver. `reason` says why its kind is unknown; empty where it is decided."""

    place: str
    text: str
    kind: str
    reason: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="FOLDER", nargs="+")
    parser.add_argument("--reasons", metavar="N", type=int, default=15, help="how many reasons to print (default: 15)")
    parser.add_argument("--list", action="store_true", help="print each receiver that is not decided")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        report(folder, list(receivers_in(folder)), arguments.reasons, arguments.list)
    return 0


def receivers_in(folder: str) -> Iterator[Receiver]:
    """In the order of the files. What cannot be read or parsed is for `tonumpy check` to complain of."""
    project = Project()
    for filename in find_files([folder], Configuration()).files:
        try:
            with open(filename, "rb") as file:
                data = file.read()
            if may_hold_candidates(data):
                yield from _receivers_of(Source(data, filename), project)
        except (OSError, SourceError):
            continue


def _receivers_of(source: Source, project: Project) -> Iterator[Receiver]:
    candidates = find_candidates(source)
    observed = observe(Module(source, project), candidates)
    for candidate in candidates:
        seen = observed.get(id(candidate.call))
        row = candidate.attribute.end_lineno or candidate.attribute.lineno
        kind, reason = ("unknown", "code that is not reached") if seen is None else kind_of(seen.receiver)
        yield Receiver(f"{source.filename}:{row}", source.line(row).strip(), kind, reason)


def kind_of(value: Value) -> tuple[str, str]:
    """The kind of a receiver, and the reason where that is unknown."""
    parts = members(value)
    unknown = next((part for part in parts if isinstance(part, Unknown)), None)
    if unknown is not None:
        why = unknown.reason.value
        return "unknown", why if not isinstance(value, Union) else f"{why} (in one of several cases)"
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if not tensors:
        return "other", ""
    return ("likely" if any(tensor.certainty == "likely" for tensor in tensors) else "tensor"), ""


def report(folder: str, receivers: list[Receiver], shown: int, listed: bool) -> None:
    kinds = Counter(each.kind for each in receivers)
    decided = sum(kinds[kind] for kind in DECIDED)
    share = f"{decided / len(receivers):.0%}" if receivers else "none to decide"
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in (*DECIDED, "unknown"))
    print(f"{folder}: {len(receivers)} receivers, {decided} decided ({share}): {counts}")
    for reason, count in Counter(each.reason for each in receivers if each.reason).most_common(shown):
        print(f"{count:5}  {reason}")
    if listed:
        for each in receivers:
            if each.reason:
                print(f"{each.place}: {each.reason}: {each.text}")


if __name__ == "__main__":
    raise SystemExit(main())
