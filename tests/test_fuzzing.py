"""Random programs through check, fix, why and notebooks."""

from __future__ import annotations

import ast

import fuzzing
import pytest

MUTANTS = 60
GRAFTED = 10


def told(examined: fuzzing.Examined) -> str:
    return "\n".join(f"{flaw.what}\n{flaw.detail}" for flaw in examined.flaws)


@pytest.mark.slow
def test_programs_made_of_the_fixtures() -> None:
    paths = fuzzing.seeds(fuzzing.FIXTURES)
    traits: list[str] = []
    for number in range(MUTANTS):
        program = fuzzing.mutant(paths, number)
        examined = fuzzing.examine(program.text, number)
        assert not examined.flaws, f"{program.origin}\n{program.text}\n{told(examined)}"
        traits += examined.traits
    # what makes no findings, or no Python, tries out little
    assert all(traits.count(trait) > MUTANTS // 4 for trait in ("parsed", "found", "repaired", "notebook"))


@pytest.mark.slow
def test_programs_of_hypothesmith() -> None:
    paths = fuzzing.seeds(fuzzing.FIXTURES)
    for number, text in enumerate(fuzzing.texts_of_hypothesmith(1, GRAFTED)):
        program = fuzzing.grafted(text, paths, number)
        examined = fuzzing.examine(program.text, number)
        assert not examined.flaws, f"{program.origin}\n{program.text}\n{told(examined)}"


def test_a_program_is_the_same_each_time() -> None:
    paths = fuzzing.seeds(fuzzing.FIXTURES)
    assert [fuzzing.mutant(paths, 7) for _ in range(2)] == [fuzzing.mutant(paths, 7)] * 2
    assert fuzzing.mutant(paths, 7) != fuzzing.mutant(paths, 8)


SOURCE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()  # why\n"
NUMBER = 8  # settings that show all there is


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("x.numpy()", "x.detach().cpu().numpy(0)", "the tree differs outside of conversions"),
        ("  # why", "", "a comment was lost"),
        ("x.numpy()", "x.numpy(", "does not parse after the fix"),
        ("x.numpy()", "x.cpu().numpy()", "a second fix changes something"),
    ],
)
def test_a_fix_that_is_wrong_is_a_flaw(old: str, new: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(source: fuzzing.Source, *rest: object, **more: bool) -> fuzzing.Fixed:
        fixed = right(source, *rest, **more)  # type: ignore[arg-type]
        is_first = source.text == SOURCE and source.filename == "program.py"
        return fixed._replace(text=source.text.replace(old, new)) if is_first else fixed

    right = fuzzing.fix
    monkeypatch.setattr(fuzzing, "fix", wrong)
    assert what in [flaw.what for flaw in fuzzing.examine(SOURCE, NUMBER).flaws]


def test_a_notebook_that_is_repaired_wrongly_is_a_flaw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "_text_of", lambda _: "y = 1")
    found = [flaw.what for flaw in fuzzing.examine(SOURCE, NUMBER).flaws]
    assert found == ["the tree of a notebook differs outside of conversions"]


def test_an_exception_is_a_flaw(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(fuzzing, "check", broken)
    assert [flaw.what for flaw in fuzzing.examine(SOURCE, NUMBER).flaws] == ["KeyError at test_fuzzing.py:broken"]


def test_mutants_of_a_long_file_are_short() -> None:
    text = "import torch\n\n" + "".join(f"def f{i}(x):\n    return x.numpy()\n\n\n" for i in range(500))
    shorter = fuzzing._shorter(text, fuzzing.random.Random(1))
    assert len(shorter) < len(text) // 4
    assert ast.parse(shorter).body
