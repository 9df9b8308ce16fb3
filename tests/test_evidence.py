"""Joining two descriptions of a value: the laws of a lattice, for facts and for what they rest on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tonumpy.engine.values.evidence import AllEvidence, Evidence, Strength, joined, weakest, without
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import believed, evidence_in, resting_on
from tonumpy.engine.values.values import Tensor

FIXTURES = Path(__file__).parents[1] / "fixtures"

_PIECES = st.builds(
    Evidence,
    st.sampled_from(Strength),
    st.sampled_from(("device", "grad", "kind")),
    st.sampled_from(("label-name", "torch.load", "a caller")),
    st.just("said"),
    st.just("module.py"),
    st.integers(0, 3),
)
_EVIDENCE = st.frozensets(_PIECES, max_size=4)
_FACTS = st.sampled_from((True, False, None))
_TENSORS = st.builds(
    Tensor,
    _FACTS,
    _FACTS,
    st.sampled_from((None, "int64", "float32")),
    certainty=st.sampled_from(("tensor", "likely", "possible")),
    evidence=_EVIDENCE,
    ufuncs=st.just(frozenset()),  # hypothesis makes what it can of the other fields, and of a call of ast it cannot
)


@given(_TENSORS, _TENSORS)
def test_join_is_commutative(one: Tensor, other: Tensor) -> None:
    assert join(one, other) == join(other, one)


@given(_TENSORS)
def test_join_is_idempotent(one: Tensor) -> None:
    assert join(one, one) == one


@given(_TENSORS, _TENSORS, _TENSORS)
def test_join_is_associative(one: Tensor, other: Tensor, third: Tensor) -> None:
    assert join(join(one, other), third) == join(one, join(other, third))


@given(_TENSORS, _TENSORS)
def test_a_join_claims_no_fact_of_one_alone(one: Tensor, other: Tensor) -> None:
    both = join(one, other)
    assert isinstance(both, Tensor)
    assert both.on_cpu is (one.on_cpu if one.on_cpu is other.on_cpu else None)
    assert both.requires_grad is (one.requires_grad if one.requires_grad is other.requires_grad else None)


@given(_TENSORS, _TENSORS)
def test_a_join_is_never_stronger_than_its_parts(one: Tensor, other: Tensor) -> None:
    both = evidence_in(join(one, other))
    for about in ("device", "grad"):
        assert weakest(both, about) == max(weakest(one.evidence, about), weakest(other.evidence, about))  # type: ignore[arg-type]


@given(_TENSORS, _TENSORS, _EVIDENCE)
def test_join_is_monotone(one: Tensor, other: Tensor, more: AllEvidence) -> None:
    """What rests on more is joined to what rests on more."""
    assert evidence_in(join(one, other)) <= evidence_in(join(resting_on(one, more), other))


@given(st.lists(_EVIDENCE))
def test_what_is_made_of_several_rests_on_all(parts: list[AllEvidence]) -> None:
    assert joined(parts) == frozenset().union(*parts)


@given(_EVIDENCE)
def test_a_fact_that_is_proved_anew_rests_on_nothing(evidence: AllEvidence) -> None:
    assert weakest(without(evidence, "device"), "device") is Strength.PROOF


def test_a_habit_overrules_nothing_that_is_known() -> None:
    from tonumpy.engine.values.evidence import Basis

    basis = Basis("label-name", "said", "module.py", 1)
    known = Tensor(on_cpu=False, requires_grad=True)
    assert believed(known, basis, on_cpu=True, requires_grad=False) == known
    learnt = believed(Tensor(on_cpu=False), basis, on_cpu=True, requires_grad=False)
    assert (learnt.on_cpu, learnt.requires_grad, {each.about for each in learnt.evidence}) == (False, False, {"grad"})


_DEEP = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n\n\n" for n in range(9))
_CHOSEN = (
    "import random\n\nimport torch\n\n\n" + _DEEP + "def f9(x):\n    return x{}\n\n\n"
    "weight = torch.nn.Parameter(torch.zeros(3))\n"
    "(weight if random.random() < 0.5 else f{}(weight)).cpu().numpy()\n"
)


_LABELS = "import torch\n\n\ndef f(labels):\n    total = torch.zeros(3, device='cpu')\n    held = []\n    {}\n"


_ONE_BRANCH = """
import sys
import matplotlib.pyplot as plt
import torch


class Filters(torch.nn.Module):
    def __init__(self, freeze):
        super().__init__()
        self.bands = torch.zeros(3)
        if not freeze:
            self.bands = torch.nn.Parameter(self.bands)


filters = Filters({})
plt.plot(filters.bands)
(filters.bands * 2).cpu().numpy()
"""


_MANY_CALLS = (
    "import torch\n\n\ndef _shown(x):\n    return x.numpy()\n\n\ndef calls(x):\n"
    + 25 * "    _shown(x.detach().cpu())\n"
)
_DEEP_CALLS = "import torch\n\n\ndef _f0(x):\n    return x.numpy()\n" + "".join(
    f"\n\ndef _f{n + 1}(x):\n    return _f{n}(x)\n" for n in range(6)
)
