"""Programs made of real torch operations at random: whatever inference claims of a value, it was so when they ran."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")

import accelerator
import devices
from hypothesis import HealthCheck, given, note, settings
from random_programs import Program, Step, programs
from real_values import Run, quiet
from reveal import claims

from tonumpy.text.source import Source


@pytest.mark.slow
def test_what_is_claimed_of_random_programs_is_true() -> None:
    missing = devices.unavailable(accelerator.DEVICE)
    if missing:
        pytest.skip(missing)
    counts: Counter[str] = Counter()

    @settings(max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(made: list[Step]) -> None:
        run = Run(accelerator.DEVICE, converts=False)
        program = Program(run)
        for step in made:
            program.add(step)
        if not program.variables:
            return
        note(program.text)
        found = claims(Source.from_text(program.text, "program.py"))
        run.seen.clear()
        with quiet():
            run.call_all(run.load(program.text, "program", "program.py"))
        assert [str(each) for each in run.contradictions(found)] == []
        for place, claim in found.items():
            if place in run.seen:
                counts["seen"] += 1
                counts["kind"] += "unknown" not in claim.kinds
                counts["device"] += claim.on_cpu is not None
                counts["grad"] += claim.requires_grad is not None

    check()
    # Unknown is never wrong, but it must not be the answer to everything.
    assert counts["seen"] > 2000
    shares = {fact: counts[fact] / counts["seen"] for fact in ("kind", "device", "grad")}
    assert shares["kind"] > 0.7, shares
    assert shares["device"] > 0.5, shares
    assert shares["grad"] > 0.4, shares
