"""What scripts/sink_trials say of functions whose behaviour is known: refused at once or later."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from devices import unavailable  # noqa: E402
from sink_trials.calls import Call  # noqa: E402
from sink_trials.outcomes import Trier  # noqa: E402
from sink_trials.table import texts_of  # noqa: E402
from sink_trials.trial import measured  # noqa: E402

pytestmark = pytest.mark.skipif(unavailable("toy") is not None, reason="tensors of every sort are tried")


class Kept:
    """It keeps what it is given; `convert` is what users do next."""

    def __init__(self, value: object) -> None:
        self.value = value


def _converted(_: object, kept: Any) -> object:  # noqa: ANN401
    return np.asarray(kept.value)


def _texts(function: Callable[..., Any], step: Callable[[Any, Any], object] | None = None) -> list[str]:
    trier = Trier(lambda: function, step=step)
    return list(texts_of(measured("f", function, trier, [Call.parse("(v)")])["found"], "!"))


def test_what_raises_in_the_call_itself() -> None:
    assert _texts(np.asarray) == ["a:0 tensor items (v)"]


def test_what_raises_for_a_dtype_or_layout_alone() -> None:
    def logged(a: Any) -> object:  # noqa: ANN401
        return a.detach().cpu().numpy() if isinstance(a, torch.Tensor) else a

    assert _texts(logged) == ["a:0 tensor=bs (v)"]


def test_what_raises_in_what_users_do_next() -> None:
    assert _texts(Kept) == []
    assert _texts(Kept, _converted) == ["value:0 tensor^ items^ (v)"]


def test_what_raises_for_every_tensor_in_what_users_do_next() -> None:
    def typed(_: object, kept: Any) -> object:  # noqa: ANN401
        if not isinstance(kept.value, np.ndarray):
            raise AttributeError
        return None

    assert _texts(Kept, typed) == ["value:0 tensor^!AttributeError (v)"]
