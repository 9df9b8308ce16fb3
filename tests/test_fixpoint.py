"""Questions that are asked again while they are worked out: what is kept, what is forgotten, and when it ends."""

from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import parts_of
from tonumpy.engine.values.values import NOTHING, Sequence, Tensor, Value
from tonumpy.inference.summaries.budget import Budget
from tonumpy.inference.summaries.fixpoint import FixpointSolver


def depth_of(value: Value) -> int:
    return 1 + max(map(depth_of, parts_of(value))) if isinstance(value, Sequence) else 0


def test_what_was_made_with_less_is_forgotten() -> None:
    solver = FixpointSolver(Budget())
    answers: dict[str, Value] = {}
    with solver.solving(answers, "outer"):
        with solver.solving(answers, "inner"):
            answers["inner"] = solver.current_answer(answers, "outer")
        with solver.solving(answers, "made of the inner one"):
            solver.use(answers, "inner")
            answers["made of the inner one"] = answers["inner"]
        with solver.solving(answers, "by itself"):
            answers["by itself"] = Tensor()
        assert answers["inner"] == NOTHING
        answers["outer"] = Tensor()
    assert answers == {"outer": Tensor(), "by itself": Tensor()}


def test_a_question_is_repeated_until_there_is_no_more() -> None:
    solver = FixpointSolver(Budget())
    answers: dict[str, Value] = {}
    found = []
    with solver.solving(answers, "sum"):
        while True:
            before = solver.current_answer(answers, "sum")
            found.append(join(Tensor(requires_grad=False), Tensor() if before == NOTHING else before))
            if not solver.is_unstable(found[-1]):
                break
    assert found == [Tensor(), Tensor()]


def test_one_that_nobody_asks_again_is_not_repeated() -> None:
    solver = FixpointSolver(Budget())
    answers: dict[str, Value] = {}
    with solver.solving(answers, "once"):
        assert not solver.is_unstable(Tensor())


def test_an_inner_one_is_repeated_with_the_outer_one_only() -> None:
    solver = FixpointSolver(Budget())
    answers: dict[str, Value] = {}
    with solver.solving(answers, "outer"):
        with solver.solving(answers, "inner"):
            solver.use(answers, "outer")
            solver.use(answers, "inner")
            assert not solver.is_unstable(Tensor())
        assert solver.is_unstable(Tensor())


def test_what_holds_itself_comes_to_an_end() -> None:
    solver = FixpointSolver(Budget())
    answers: dict[str, Value] = {}
    with solver.solving(answers, "tree"):
        repetitions = 0
        while solver.is_unstable(Sequence(None, join(Tensor(), solver.current_answer(answers, "tree")))):
            repetitions += 1
            assert repetitions < 3
        assert depth_of(solver.current_answer(answers, "tree")) == 1


def test_what_a_limit_has_cut_short_is_forgotten_with_what_was_made_of_it() -> None:
    budget = Budget()
    solver = FixpointSolver(budget)
    answers: dict[str, Value] = {}
    with solver.solving(answers, "cut"):
        budget.cut()
        answers["cut"] = Tensor()
    with solver.solving(answers, "whole"):
        answers["whole"] = Tensor()
    with solver.solving(answers, "made of it"):
        assert solver.known(answers, "cut") == Tensor()
        answers["made of it"] = Tensor()
    solver.abandon()  # before there is anew to be spent
    assert answers == {"whole": Tensor()}
