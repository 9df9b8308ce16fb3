"""Questions that are asked again while they are worked out: what is kept, what is forgotten, and when it ends."""

from tonumpy.inference.lattice.joins import join
from tonumpy.inference.lattice.values import NOTHING, Sequence, Tensor, Value, parts_of
from tonumpy.inference.summaries.budget import Budget
from tonumpy.inference.summaries.fixpoint import Unfinished


def depth_of(value: Value) -> int:
    return 1 + max(map(depth_of, parts_of(value))) if isinstance(value, Sequence) else 0


def test_what_was_made_with_less_is_forgotten() -> None:
    unfinished = Unfinished(Budget())
    answers: dict[str, Value] = {}
    with unfinished.working_out(answers, "outer"):
        with unfinished.working_out(answers, "inner"):
            answers["inner"] = unfinished.so_far(answers, "outer")
        with unfinished.working_out(answers, "made of the inner one"):
            unfinished.use(answers, "inner")
            answers["made of the inner one"] = answers["inner"]
        with unfinished.working_out(answers, "by itself"):
            answers["by itself"] = Tensor()
        assert answers["inner"] == NOTHING
        answers["outer"] = Tensor()
    assert answers == {"outer": Tensor(), "by itself": Tensor()}


def test_a_question_is_repeated_until_there_is_no_more() -> None:
    unfinished = Unfinished(Budget())
    answers: dict[str, Value] = {}
    found = []
    with unfinished.working_out(answers, "sum"):
        while True:
            before = unfinished.so_far(answers, "sum")
            found.append(join(Tensor(requires_grad=False), Tensor() if before == NOTHING else before))
            if not unfinished.must_repeat(found[-1]):
                break
    assert found == [Tensor(), Tensor()]


def test_one_that_nobody_asks_again_is_not_repeated() -> None:
    unfinished = Unfinished(Budget())
    answers: dict[str, Value] = {}
    with unfinished.working_out(answers, "once"):
        assert not unfinished.must_repeat(Tensor())


def test_an_inner_one_is_repeated_with_the_outer_one_only() -> None:
    unfinished = Unfinished(Budget())
    answers: dict[str, Value] = {}
    with unfinished.working_out(answers, "outer"):
        with unfinished.working_out(answers, "inner"):
            unfinished.use(answers, "outer")
            unfinished.use(answers, "inner")
            assert not unfinished.must_repeat(Tensor())
        assert unfinished.must_repeat(Tensor())


def test_what_holds_itself_comes_to_an_end() -> None:
    unfinished = Unfinished(Budget())
    answers: dict[str, Value] = {}
    with unfinished.working_out(answers, "tree"):
        repetitions = 0
        while unfinished.must_repeat(Sequence(None, join(Tensor(), unfinished.so_far(answers, "tree")))):
            repetitions += 1
            assert repetitions < 3
        assert depth_of(unfinished.so_far(answers, "tree")) == 1


def test_what_a_limit_has_cut_short_is_forgotten_with_what_was_made_of_it() -> None:
    budget = Budget()
    unfinished = Unfinished(budget)
    answers: dict[str, Value] = {}
    with unfinished.working_out(answers, "cut"):
        budget.cut()
        answers["cut"] = Tensor()
    with unfinished.working_out(answers, "whole"):
        answers["whole"] = Tensor()
    with unfinished.working_out(answers, "made of it"):
        assert unfinished.known(answers, "cut") == Tensor()
        answers["made of it"] = Tensor()
    unfinished.abandon()  # before there is anew to be spent
    assert answers == {"whole": Tensor()}
