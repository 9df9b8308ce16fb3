"""Candidates in; conversions out: what is known of each receiver, and only of receivers that may be torch tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tonumpy.candidates import Candidate
from tonumpy.chains import chain_of
from tonumpy.conversions import Conversion
from tonumpy.inference.project import Project
from tonumpy.source import Source


def infer(source: Source, candidates: Sequence[Candidate], project: Project) -> list[Conversion]:
    if "import torch" not in source.text or "tensorflow" in source.text:
        return []
    return [Conversion(each, chain_of(each.receiver), "likely", None, None, None) for each in candidates]
