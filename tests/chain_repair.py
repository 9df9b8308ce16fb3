"""A text in; every chain in it repaired out, as if inference had proved each receiver a tensor and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.candidates import find_candidates
from tonumpy.chains import chain_of
from tonumpy.conversions import Certainty, Conversion, Fact
from tonumpy.edits import plan_fix
from tonumpy.rewrite import Repair, rewrite
from tonumpy.source import Source

if TYPE_CHECKING:
    from tonumpy.findings import Fix, Style


def conversions_of(source: Source, certainty: Certainty = "tensor", data_of_tensor: Fact = True) -> list[Conversion]:
    return [
        Conversion(candidate, chain_of(candidate.receiver), certainty, None, None, None, data_of_tensor)
        for candidate in find_candidates(source)
    ]


def fixes_of(text: str, style: Style = "links", certainty: Certainty = "tensor") -> list[Fix]:
    source = Source.from_text(text, "example.py")
    conversions = conversions_of(source, certainty)
    return [plan_fix(each, source, style) for each in conversions if not each.is_complete]


def repairs_of(source: Source, style: Style = "links") -> list[Repair]:
    fixes = [(each, plan_fix(each, source, style)) for each in conversions_of(source) if not each.is_complete]
    return [Repair(each, fix.edits) for each, fix in fixes if fix.applicability == "safe"]


def repair(text: str, style: Style = "links") -> str:
    source = Source.from_text(text, "example.py")
    return rewrite(source, repairs_of(source, style), style)
