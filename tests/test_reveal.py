"""The fixtures of fixtures/reveal: what inference knows of each receiver, and that real tensors bear out all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_format import FOLDER
from reveal import Claim, claims, expected_words, marked_rows, place_of, revealed, words_by_row

from tonumpy.engine.names.project import Project
from tonumpy.text.candidates import Candidate, find_candidates
from tonumpy.text.source import Source

# A folder in `modules` is a program of several modules, whose main.py holds what is revealed.
PROGRAMS = sorted((FOLDER / "reveal" / "modules").glob("*/main.py"))
FILES = sorted(path for path in (FOLDER / "reveal").glob("*.py") if not path.name.endswith(".fixed.py"))
# What an attribute holds depends there on which method was asked about first: known to be wrong.
ORDER_MATTERS = {"module_containers.py", "recursion_of_attributes.py"}
# Lightning is not installed, and calls its hooks itself.
NOT_EXECUTED = {"hooks.py"}

each_file = pytest.mark.parametrize(
    "path", [*FILES, *PROGRAMS], ids=lambda path: path.relative_to(FOLDER / "reveal").as_posix()
)


def source_of(path: Path) -> Source:
    return Source(path.read_bytes(), str(path))


@each_file
def test_what_is_revealed(path: Path) -> None:
    source = source_of(path)
    assert words_by_row(revealed(source)) == expected_words(source.text)


@pytest.mark.slow
@each_file
def test_real_tensors_contradict_nothing(path: Path) -> None:
    if path.name in NOT_EXECUTED:
        pytest.skip("it is called by a library that is not installed")
    run = executed(path)
    source = source_of(path)
    found = claims(source)
    contradictions = run.contradictions(found)
    marked = marked_rows(source.text, "by convention") | marked_rows(source.text, "known wrong")
    assert [each for each in contradictions if each.row not in marked] == []
    assert {each.row for each in contradictions} == marked, "a mark where torch bears out the claim"
    silent = {place[0] for place, claim in found.items() if claim.kinds and place not in run.seen}
    assert silent == marked_rows(source.text, "never runs")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.parent.name)
def test_the_order_of_the_files_changes_nothing(path: Path) -> None:
    alone = words_by_row(revealed(source_of(path)))
    for files in (sorted(path.parent.rglob("*.py")), sorted(path.parent.rglob("*.py"), reverse=True)):
        project = Project()
        found = {file: words_by_row(revealed(source_of(file), project)) for file in files}
        assert found[path] == alone


@pytest.mark.slow
@each_file
def test_the_order_of_the_questions_changes_nothing(path: Path) -> None:
    """Nor does it what else is asked: from the end of the text, or of one function alone, the answers are the same."""
    source = source_of(path)
    together = claims(source)
    by_scope: dict[int, list[Candidate]] = {}
    for candidate in find_candidates(source):
        by_scope.setdefault(id(candidate.scopes[-1]), []).append(candidate)
    differing = [
        candidate.call.lineno
        for candidates in (find_candidates(source)[::-1], *by_scope.values())
        for candidate, claim in revealed(source, candidates=candidates)
        if claim != together[place_of(candidate)]
    ]
    assert bool(differing) == (path.name in ORDER_MATTERS), differing


def executed(path: Path):  # noqa: ANN201 (torch may be missing)
    """A run of the fixture, or of its functions, on the CPU and on the test accelerator."""
    pytest.importorskip("torch")
    import accelerator
    import devices
    from real_values import Run, importing_from

    missing = devices.unavailable(accelerator.DEVICE)
    if missing:
        pytest.skip(missing)
    run = Run(accelerator.DEVICE)
    text = path.read_text("utf-8")
    is_script = '__name__ == "__main__"' in text
    # Where a conversion raises, what comes after it is seen in the second round.
    for run.converts in (True, False):
        with importing_from(path.parent):
            module = run.load(text, "__main__" if is_script else path.stem, str(path))
            if not is_script:
                run.call_all(module)
    return run


def test_a_false_claim_is_seen() -> None:
    run = executed(FOLDER / "reveal" / "branches.py")
    for place, seen in run.seen.items():
        for each in seen:
            opposite = Claim(frozenset({"tensor"}), not each.on_cpu, None, None)
            other = Claim(frozenset({"tensor"}), None, not each.requires_grad, None)
            assert run.contradictions({place: opposite})
            assert run.contradictions({place: other})
            assert run.contradictions({place: Claim(frozenset({"tensor"}), None, None, not each.grad_mode)})
            assert run.contradictions({place: Claim(frozenset({"None"}), None, None, None)})
            assert run.contradictions({place: Claim(frozenset(), None, None, None)})
            assert not run.contradictions({place: Claim(frozenset({"unknown"}), None, None, None)})
