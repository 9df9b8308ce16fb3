"""What tonumpy does to Python's garbage collector, of which there is one for the whole process."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tonumpy.garbage import Paused

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize("was_on", [True, False])
def test_off_inside_and_as_before_behind(was_on: bool) -> None:
    (gc.enable if was_on else gc.disable)()
    with pytest.raises(ValueError, match="inside"), Paused():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled() == was_on
