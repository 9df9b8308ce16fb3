"""What tonumpy does to Python's garbage collector, of which there is one for the whole process."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tonumpy.garbage import ENOUGH, Paused, Sheltered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


def is_in_sight(wanted: object) -> bool:
    return any(each is wanted for each in gc.get_objects())


@pytest.mark.parametrize("work", [Paused(), Sheltered()])
@pytest.mark.parametrize("was_on", [True, False])
def test_off_inside_and_as_before_behind(work: Paused, was_on: bool) -> None:
    (gc.enable if was_on else gc.disable)()
    with pytest.raises(ValueError, match="inside"), work:
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled() == was_on


def test_what_is_kept_goes_out_of_sight() -> None:
    sheltered = Sheltered()
    with sheltered:
        kept = [[] for _ in range(ENOUGH + 1000)]  # type: list[list[object]]
    assert not is_in_sight(kept)


def test_a_little_is_not_worth_a_collection() -> None:
    sheltered = Sheltered()
    with sheltered:
        kept = [[] for _ in range(ENOUGH // 2)]  # type: list[list[object]]
    assert is_in_sight(kept)
    with sheltered:
        more = [[] for _ in range(ENOUGH // 2 + 1000)]  # type: list[list[object]]
    assert not is_in_sight(kept) and not is_in_sight(more)


def test_what_is_freed_does_not_count() -> None:
    sheltered, before = Sheltered(), gc.get_freeze_count()
    for _ in range(3):
        with sheltered:
            made = [[] for _ in range(ENOUGH)]  # type: list[list[object]]
            made.clear()
    assert gc.get_freeze_count() == before


def test_a_fourth_more_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what it costs grows with what is kept, and no faster."""
    sheltered, freeze = Sheltered(), gc.freeze
    kept: list[list[object]] = []
    freezes = []
    # counted here: `gc.get_freeze_count` goes through all that is frozen, the whole test run
    monkeypatch.setattr(gc, "freeze", lambda: freezes.append(freeze()))
    for _ in range(20 * 16):
        with sheltered:
            kept += [[] for _ in range(ENOUGH // 16)]
    assert 8 < len(freezes) < 16


def test_where_the_program_has_it_off_nothing_is_collected() -> None:
    gc.disable()
    with Sheltered():
        kept = [[] for _ in range(ENOUGH + 1000)]  # type: list[list[object]]
    assert is_in_sight(kept)


def test_garbage_of_others_is_not_kept() -> None:
    class Ring:
        def __init__(self) -> None:
            self.ring = self

    ring = Ring()
    gc.collect()  # now it is old, and no collection of young objects finds it
    del ring
    with Sheltered():
        kept = [[] for _ in range(ENOUGH + 1000)]  # type: list[list[object]]
    gc.unfreeze()
    assert kept and not any(type(each) is Ring for each in gc.get_objects())


_FLAKE8 = """\
import gc, sys
from flake8.main.cli import main

main(["--jobs=1", "--isolated", "--select=TNP", "."])
print(gc.isenabled(), sum(type(each).__module__ == "tonumpy.engine.names.module" for each in gc.get_objects()))
"""


def test_in_flake8_what_is_kept_is_out_of_sight(tmp_path: Path) -> None:
    body = "".join(f"def f{number}(x):\n    return [x, {{'a': x + {number}}}]\n\n\n" for number in range(2000))
    (tmp_path / "helpers.py").write_text(body)
    uses = "".join(f"    helpers.f{number}(x).numpy()\n" for number in range(0, 2000, 2))
    (tmp_path / "user.py").write_text(f"import torch\nimport helpers\n\n\ndef f(x: torch.Tensor):\n{uses}")
    command = [sys.executable, "-c", _FLAKE8]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "True 0", run.stderr
