"""Joining two descriptions of a value: the laws of a lattice, for facts and for what they rest on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonumpy import check_source
from tonumpy.engine.values.evidence import AllEvidence, Evidence, Strength, joined, weakest, without
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import believed, evidence_in, resting_on
from tonumpy.engine.values.values import Tensor
from tonumpy.inference.summaries.budget import MAX_STATEMENTS, Budget

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


@pytest.mark.parametrize(
    "written",
    [
        "total += labels\n    total.numpy()",
        "total[0] = labels\n    total.numpy()",
        "view = total[1]\n    total[0] = labels\n    view.numpy()",
        "total = total + labels\n    total.numpy()",
        "if isinstance(labels, torch.Tensor):\n        labels.cpu().numpy()",
        "if torch.is_tensor(labels):\n        labels.cpu().numpy()",
        "if hasattr(labels, 'detach'):\n        labels.cpu().numpy()",
        "whole: torch.Tensor = labels\n    whole.cpu().numpy()",
        "held.append(labels)\n    held[0].cpu().numpy()",
    ],
)
def test_what_is_written_or_asked_keeps_what_it_rests_on(written: str) -> None:
    code = _LABELS.format(written)
    assert check_source(code, "m.py") == []
    (found,) = check_source(code, "m.py", confidence="low")
    assert {ground.id for ground in found.evidence} == {"label-name"}


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


def test_a_parameter_on_one_branch_alone() -> None:
    from tonumpy import check_source

    assert check_source(_ONE_BRANCH.format("True")) == []
    sure = check_source(_ONE_BRANCH.format("False"))
    assert [(each.code, each.confidence) for each in sure] == [("TNP104", "high"), ("TNP102", "high")]
    drawn, converted = check_source(_ONE_BRANCH.format("len(sys.argv) > 1"))
    assert (drawn.confidence, converted.confidence) == ("medium", "medium")
    assert drawn.message.endswith("it may require grad: NumPy raises RuntimeError if it does")
    assert converted.message.endswith("on a tensor that may require grad: can raise RuntimeError")
    assert {each.message for each in drawn.evidence if each.kind == "budget"} == {
        "`self.bands` is a parameter on one branch alone"
    }


def test_where_the_search_is_cut_off() -> None:
    from tonumpy import check_source

    (followed,) = check_source(_CHOSEN.format(".detach()", 8))
    assert (followed.confidence, {ground.kind for ground in followed.evidence}) == ("high", {"promise"})
    (cut,) = check_source(_CHOSEN.format(".detach()", 0))
    assert cut.confidence == "medium"
    (why,) = [ground for ground in cut.evidence if ground.kind == "budget"]
    assert (why.about, why.id, why.row) == ("grad", "depth", 38)
    assert why.message == "analysis limit reached: `f8` is not followed"


_MANY_CALLS = (
    "import torch\n\n\ndef _shown(x):\n    return x.numpy()\n\n\ndef calls(x):\n"
    + 25 * "    _shown(x.detach().cpu())\n"
)
_DEEP_CALLS = "import torch\n\n\ndef _f0(x):\n    return x.numpy()\n" + "".join(
    f"\n\ndef _f{n + 1}(x):\n    return _f{n}(x)\n" for n in range(6)
)


@pytest.mark.parametrize(("code", "bound"), [(_MANY_CALLS, "callers"), (_DEEP_CALLS, "depth")])
def test_callers_that_are_not_followed(code: str, bound: str) -> None:
    (found,) = check_source(code, "m.py")
    grounds = {(ground.kind, ground.id, ground.about) for ground in found.evidence}
    assert grounds == {("budget", bound, "device"), ("budget", bound, "grad")}


def test_what_is_known_does_not_rest_on_a_search_that_was_cut_off() -> None:
    from tonumpy import check_source

    code = "import torch\n\n\n" + _DEEP + "def f9(x):\n    return x\n\n\ndef g(x):\n    {}\n"
    (cut,) = check_source(code.format("y = f0(x).detach()\n    return y.numpy()"))
    assert {(ground.kind, ground.about) for ground in cut.evidence} == {("budget", "device")}
    assert check_source(code.format("y = f0(x).detach().cpu()\n    return y.numpy()")) == []


_OF_A_MODEL = """\
import torch
from mmengine.structures import InstanceData


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def _scores(self, x):
        return self.layer(x), self.layer(x + 1)

    def predict(self, x):
        first, second = self._scores(x)
        return first.cpu().numpy(), second.cpu().numpy()


def shown(head: Head, x):
{}    return head.predict(x)
"""


def _limited(monkeypatch: pytest.MonkeyPatch, statements: int) -> None:
    refuel = Budget.refuel
    monkeypatch.setattr(Budget, "refuel", lambda budget, limit: refuel(budget, min(statements, limit)))


def _scaled_down(monkeypatch: pytest.MonkeyPatch, statements: int) -> None:
    refuel = Budget.refuel
    monkeypatch.setattr(Budget, "refuel", lambda budget, limit: refuel(budget, limit * statements // MAX_STATEMENTS))


@pytest.mark.parametrize("statements", [1, 2, 3, 5, 8, 13, 21])
def test_what_a_cut_search_does_not_settle_is_named(statements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a module where other values have a `numpy` of their own, of which nothing would be said."""
    code = _OF_A_MODEL.format("")
    assert len(check_source(code, "m.py")) == 2
    _limited(monkeypatch, statements)
    found = check_source(code, "m.py", confidence="low")
    assert len(found) == 2
    for finding in found:
        is_cut = any(ground.kind == "budget" for ground in finding.evidence)
        assert is_cut or finding.confidence != "low"


@pytest.mark.parametrize("place", ["TNP101/*.py", "TNP102/*.py", "TNP103/*.py", "reveal/[fl][ra]*.py"])
def test_no_finding_vanishes_with_the_budget(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = ["TNP101", "TNP102", "TNP103"]
    texts = {path: path.read_text() for path in FIXTURES.glob(place) if ".fixed." not in path.name}

    def found(path: Path) -> set[tuple[object, str]]:
        findings = check_source(texts[path], str(path), select=codes, confidence="low")
        return {(finding.start, finding.code) for finding in findings}

    whole = {path: found(path) for path in texts}
    _limited(monkeypatch, 10)
    assert {path.name: gone for path in texts if (gone := whole[path] - found(path))} == {}


@pytest.mark.parametrize("statements", [2, 4])
def test_what_may_be_anything_as_the_search_was_cut_is_of_low_confidence(
    statements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FIXTURES / "TNP104" / "learns.py"
    _limited(monkeypatch, statements)
    findings = check_source(path.read_text(), str(path), select=["TNP104"], confidence="low")
    cut = [each for each in findings if any(ground.kind == "budget" for ground in each.evidence)]
    assert cut
    assert {each.confidence for each in cut} == {"low"}


_OF_CALLERS = """\
import torch


def made(batch):
    first = [torch.zeros(len(each)) for each in batch]
    second = [each + 1 for each in first]
    return torch.stack(first).cuda(), torch.stack(second).cuda()


def to_numpy(pair):
    first, second = pair
    convert = lambda x: x.numpy() if type(x) is torch.Tensor else x
    return convert(first), [convert(each) for each in second]


def tensorize(batch):
    return to_numpy(made(batch))


def tensorize_pairs(pairs):
    left, right = zip(*pairs)
    return to_numpy(made(left)), to_numpy(made(right))


if __name__ == "__main__":
    tensorize([[1], [2]])
    tensorize_pairs([[1], [2]])
"""


def test_what_is_not_reached_before_the_budget_is_spent_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers are followed half as far as the function itself, which may end before the conversion."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "script.py").write_text("from module import to_numpy\n\nprint(to_numpy(input()))\n")
    path = tmp_path / "module.py"
    path.write_text(_OF_CALLERS)
    for statements in (*range(1, 80), MAX_STATEMENTS):
        monkeypatch.undo()
        _scaled_down(monkeypatch, statements)
        found = check_source(_OF_CALLERS, str(path), confidence="low")
        assert [finding.start.row for finding in found] == [12], f"{statements} statements"
