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


NAMES = "made_to_require_grad added_up train of_a_list by_a_criterion by_a_criterion_given".split()


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


BY_FUNCTIONS = "by_a_function of_an_array under_the_same_name".split()


@pytest.mark.parametrize("name", BY_FUNCTIONS)
def test_a_leaf_made_of_what_a_function_gives_trains_nothing(name: str) -> None:
    lost = functions_of("lost_in_functions")
    assert not is_learnt(lambda net: lost[name](net, X, TARGET))


def test_a_leaf_made_of_what_a_method_gives_trains_nothing() -> None:
    lost = functions_of("lost_in_functions")
    assert not is_learnt(lambda net: lost["Fitting"](net).of_each_row(X))
    assert not is_learnt(lambda net: lost["Fitting"](net).by_a_method_that_trains(X))
    assert not is_learnt(lambda net: lost["Fitting"](net).by_a_method_that_returns_it(X))
    spring = lost["Spring"]()
    lost["by_a_function_that_is_given"](spring, X[0].numpy())
    assert spring.stiffness.grad is None


def test_what_is_trained_on_beside_what_a_function_gives_trains() -> None:
    clean = functions_of("clean_in_functions")
    assert is_learnt(lambda net: clean["shown"](net, X, TARGET))
    assert is_learnt(lambda net: clean["kept_beside"](net, X, TARGET))
    assert is_learnt(lambda net: clean["as_a_weight"](net, X, TARGET))
    assert is_learnt(lambda net: clean["as_a_number"](net, X, TARGET))
    assert is_learnt(lambda net: clean["of_a_part"](net, X))
    assert is_learnt(lambda net: clean["probed"](net, X))
    assert is_learnt(lambda policy: clean["Critic"](policy, policy).by_its_policy(policy, X))
    assert clean["attacked"](X, TARGET).any()
    assert clean["handed_on"](X, TARGET).grad.any()
    balanced = clean["Balanced"](torch.nn.Linear(3, 3))
    balanced.learn(X)
    assert balanced.share.grad


BY_MAKERS = "of_several of_a_dict by_an_attribute by_a_variable".split()


@pytest.mark.parametrize("name", BY_MAKERS)
def test_a_leaf_that_a_function_makes_trains_nothing(name: str) -> None:
    lost = functions_of("lost_in_makers")
    assert not is_learnt(lambda net: lost[name](net, X, TARGET))


@pytest.mark.parametrize("name", ["by_a_method_that_trains", "by_both", "by_a_property"])
def test_a_leaf_that_a_method_makes_trains_nothing(name: str) -> None:
    lost = functions_of("lost_in_makers")
    assert not is_learnt(lambda net: getattr(lost["Learner"](net), name)(X, TARGET))


def test_what_is_trained_on_beside_a_leaf_that_a_function_makes_trains() -> None:
    clean = functions_of("clean_in_makers")
    assert is_learnt(lambda net: clean["fed"](net, X))
    assert is_learnt(lambda net: clean["beside"](net, X, TARGET))
    assert is_learnt(lambda net: clean["by_a_score"](net, X))
    assert clean["with_its_gradient"](X).any()
    assert clean["returned"](X).grad.any()
