"""What TNP203 says, held against real torch: what it reports trains nothing, and what it leaves alone does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fixture_format import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")


def functions_of(name: str) -> dict[str, Any]:
    path = FOLDER / "TNP203" / f"{name}.py"
    namespace: dict[str, Any] = {"__name__": "fixture"}
    exec(compile(path.read_bytes(), str(path), "exec"), namespace)
    return namespace


def is_learnt(train: Callable[[Any], object]) -> bool:
    """Whether a parameter gets a gradient."""
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 3)
    train(net)
    return net.weight.grad is not None and bool(net.weight.grad.any())


X, TARGET = torch.arange(9.0).reshape(3, 3) / 9, torch.eye(3)


NAMES = "made_to_require_grad added_up train of_a_list by_a_criterion by_a_criterion_given by_an_attribute".split()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_reported_trains_nothing(name: str) -> None:
    lost = functions_of("lost")
    assert not is_learnt(lambda net: lost[name](net, X, TARGET))


def test_a_loss_of_arrays_trains_nothing() -> None:
    assert not functions_of("lost")["SpectralLoss"]()(torch.nn.Linear(3, 3)(X), TARGET).requires_grad


def test_what_is_left_alone_trains() -> None:
    clean = functions_of("clean_kept")
    assert is_learnt(lambda net: clean["measured"](net, X, TARGET))
    assert is_learnt(lambda net: clean["listed"](net, X, TARGET))
    assert is_learnt(lambda policy: clean["weighted"](torch.nn.Linear(3, 3), policy, X, X.numpy()))
    assert is_learnt(lambda net: clean["of_features"](net, X))
    assert is_learnt(lambda net: clean["of_a_weighted"](net, X, TARGET))
    assert clean["adversarial"](torch.nn.Linear(3, 3), X).any()
    assert not torch.equal(clean["attacked"](X, TARGET, 0.1), X)
    assert not torch.equal(clean["by_hand"](X), X)
    assert not torch.equal(clean["by_an_optimizer"](X), X)
    assert clean["of_weights_made_here"](X).any()
    assert clean["of_a_model_made_here"](X).any()


@pytest.mark.parametrize("name", ["by_a_function", "by_a_function_that_returns_it"])
def test_what_is_missed_trains_nothing(name: str) -> None:
    missed = functions_of("clean_missed")
    assert not is_learnt(lambda net: missed[name](net, X, TARGET))
