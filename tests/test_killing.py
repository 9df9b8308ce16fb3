"""`tonumpy fix` is killed at random moments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import killing
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

KILLS = 20
FILES = 40


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_is_left(tmp_path: Path) -> None:
    found = killing.campaign(killing.Tree(tmp_path, FILES), range(KILLS))
    assert found.wrong == []
    assert sum(found.kills.values()) == KILLS
    assert found.moments["while"]  # else they have tried out little


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def left(path: Path) -> None:
    (path.parent / ".tonumpy-0.part").touch()


@pytest.mark.parametrize(("damage", "said"), [(torn, "neither the old file nor the new one"), (left, "left behind")])
def test_what_is_wrong_is_found(damage: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    tree = killing.Tree(tmp_path, 2)
    assert killing.finished(tree) == []
    damage(next(iter(tree.old)))
    found = killing.found_in(tree)
    assert said in " ".join(found.wrong) or found.left
