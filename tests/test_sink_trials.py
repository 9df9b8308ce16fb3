"""What scripts/sink_trials say of functions whose behaviour is known: refused at once, later, or answered otherwise."""

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
from sink_trials.differences import difference  # noqa: E402
from sink_trials.outcomes import Trier  # noqa: E402
from sink_trials.table import table_of, texts_of  # noqa: E402
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


def test_what_gives_something_else_in_silence() -> None:
    class Library:
        root, plain, things, trials, takes_cuda, unless = "lib", False, (), (), "", ()

    def texts(a: Any) -> object:  # noqa: ANN401
        return [str(each) for each in a]

    trier = Trier(lambda: texts)
    row = {**measured("lib.f", texts, trier, [Call.parse("(v)")]), "aliases": []}
    functions, others, counts = table_of(Library, [row])
    assert functions == {}
    assert others == {"f": [f"a:0 {way} text (v)" for way in ("tensor", "items", "records")]}
    assert counts["other"] == 1


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        (torch.zeros(2), np.zeros(2), "tensor"),
        ([torch.zeros(2)], [np.zeros(2)], "tensor"),
        (np.array([torch.zeros(()), None], dtype=object), np.zeros(2), "objects"),
        (np.zeros(2), np.zeros(3), "shape"),
        (np.zeros(2), np.ones(2), "values"),
        (np.zeros(2, "f4"), np.zeros(2), ""),
        ("tensor(1.)", "1.0", "text"),
        (b"1", b"2", "picture"),
        ((1, "a"), (1, "b"), "text"),
        ({"a": 1}, {"a": 2}, "values"),
        (object(), object(), ""),
    ],
)
def test_in_what_two_results_differ(one: object, other: object, word: str) -> None:
    assert difference(one, other) == word
