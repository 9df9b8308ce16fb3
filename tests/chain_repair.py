"""Repairs every chain in a text as if inference had proved each receiver a tensor and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.conversions import MethodConversion
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.facts import Fact
from tonumpy.repair.edit_layout import plan_fix
from tonumpy.repair.operations import complete_chain
from tonumpy.repair.rewrite import Repair, rewrite
from tonumpy.text.candidates import find_candidates
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from tonumpy.facts import Certainty
    from tonumpy.findings import Fix, Style


def conversions_of(
    source: Source, certainty: Certainty = "tensor", data_of_tensor: Fact = True
) -> list[MethodConversion]:
    return [
        MethodConversion(
            site=candidate,
            certainty=certainty,
            chain=chain_of(candidate.receiver),
            data_of_tensor=data_of_tensor,
        )
        for candidate in find_candidates(source)
    ]


def fix_of(conversion: MethodConversion, source: Source, style: Style = "links") -> Fix:
    fix = plan_fix(conversion, complete_chain(conversion, style), source)
    assert fix is not None
    return fix


def fixes_of(text: str, style: Style = "links", certainty: Certainty = "tensor") -> list[Fix]:
    source = Source.from_text(text, "example.py")
    return [fix_of(each, source, style) for each in conversions_of(source, certainty) if not each.is_complete]


def repairs_of(source: Source, style: Style = "links") -> list[Repair]:
    incomplete = [each for each in conversions_of(source) if not each.is_complete]
    fixes = [(each, fix_of(each, source, style)) for each in incomplete]
    return [Repair(complete_chain(each, style), fix.edits) for each, fix in fixes if fix.applicability == "safe"]


def repair(text: str, style: Style = "links") -> str:
    source = Source.from_text(text, "example.py")
    return rewrite(source, repairs_of(source, style))
