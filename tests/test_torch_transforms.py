"""Within the transforms of torch.func, what TNP101 says is so on real torch, and `fix` changes nothing there."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tonumpy import check_source, fix_source

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
FIXTURE = Path(__file__).parents[1] / "fixtures" / "TNP101" / "within_transforms.py"
TRANSFORMS = ("grad", "grad_and_value", "jacrev", "jacfwd", "vjp", "jvp", "hessian", "vmap")
CHAINS = (".numpy()", ".detach().numpy()", ".detach().cpu().numpy()", ".numpy(force=True)")

MODULE = """\
import torch


def f(v: torch.Tensor):
    return v.sum() * float(v{chain}.sum())


def run(x: torch.Tensor):
    return torch.func.{transform}(f{rest}
"""


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_no_link_helps_and_none_is_added(tmp_path: Path, transform: str, chain: str) -> None:
    rest = {"vjp": ", x)", "jvp": ", (x,), (x,))", "vmap": ")(x[None])"}.get(transform, ")(x)")
    path = tmp_path / "m.py"
    path.write_text(MODULE.format(chain=chain, transform=transform, rest=rest))
    with pytest.raises(RuntimeError):
        runpy.run_path(str(path))["run"](torch.ones(3))
    (finding,) = check_source(path.read_text())
    assert (finding.code, finding.confidence, finding.fix) == ("TNP101", "high", None)
    assert finding.message == (
        f"`.numpy()` on a tensor within `torch.func.{transform}` (line 9): raises RuntimeError, and no link helps;"
        " convert outside"
    )
    assert fix_source(path.read_text()) == path.read_text()


def test_what_the_fixture_says_is_so() -> None:
    made: dict[str, Callable[..., object]] = runpy.run_path(str(FIXTURE))
    batch = torch.ones(2, 3)
    made["clean"](batch)
    made["outside"](batch)
    for name, transform in (("twice", torch.vmap), ("made_of_it", torch.vmap), ("loss", torch.func.grad)):
        with pytest.raises(RuntimeError):
            transform(made[name])(batch if transform is torch.vmap else batch[0])
    with pytest.raises(RuntimeError):
        made["decorated"](batch[0])
