"""Executable fixtures on real torch: the original fails as foretold, and what tonumpy makes of it works everywhere."""

from __future__ import annotations

from typing import Literal

import pytest

pytest.importorskip("torch")

import accelerator
import devices
import mutants
import runtime_functions
from fixture_format import read_saved
from runtime_fixtures import Fixture, find_fixtures
from runtime_matrix import run_matrix

from tonumpy import check_source, fix_source

pytestmark = pytest.mark.usefixtures("no_other_files")

FIXTURES = find_fixtures()
FLAGGED = [fixture for fixture in FIXTURES if not fixture.is_clean]
CLEAN = [fixture for fixture in FIXTURES if fixture.is_clean]
_DEVICES = [pytest.param(device, marks=pytest.mark.cuda if device == "cuda" else ()) for device in devices.DEVICES]
_SPARSE = tuple(fixture.name for fixture in FIXTURES if "to_dense" in fixture.lacks)
_BY_NAME = {fixture.name: fixture for fixture in FIXTURES}


def _require(device: str) -> None:
    reason = devices.unavailable(device)
    if reason:
        cells = sum(1 for fixture in FIXTURES for _ in fixture.cells(device))
        pytest.skip(f"{reason}: none of the {2 * cells} cells of the matrix were run on {device}")


@pytest.mark.slow
@pytest.mark.parametrize("style", ["links", "force", "needed"])
@pytest.mark.parametrize("device", _DEVICES)
@pytest.mark.parametrize("fixture", FLAGGED, ids=lambda fixture: fixture.name)
def test_repaired_code_works_where_the_original_raised(
    fixture: Fixture, device: str, style: Literal["links", "force", "needed"]
) -> None:
    _require(device)
    if style == "needed":
        repaired = fix_source(fixture.text, unsafe=True, links=style)
    else:
        repaired = fix_source(fixture.text, unsafe=True, style=style)
    cells = list(run_matrix(fixture, device, repaired, forced=style == "force"))
    assert not [str(cell) for cell in cells if cell.problem]
    # On the CPU nothing is wrong with a chain that lacks `.cpu()` alone; a copy from elsewhere has neither bit.
    harmless = {"cpu"} if device == "cpu" else {"resolve_conj", "resolve_neg"}
    if not fixture.lacks <= harmless:
        assert any(cell.healed for cell in cells)


@pytest.mark.parametrize("device", _DEVICES)
@pytest.mark.parametrize("fixture", CLEAN, ids=lambda fixture: fixture.name)
def test_silence_is_right(fixture: Fixture, device: str) -> None:
    _require(device)
    assert not check_source(fixture.text)
    assert not [str(cell) for cell in run_matrix(fixture, device, fixture.text) if cell.problem]


@pytest.mark.parametrize("fixture", CLEAN, ids=lambda fixture: fixture.name)
def test_a_near_miss_is_found_without_what_saves_it(fixture: Fixture) -> None:
    for saved in read_saved(fixture.text.splitlines()):
        assert saved.code in {each.code for each in check_source(saved.undone(fixture.text))}, saved


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "harmless"),
    [
        (mutants.does_nothing, ()),
        # Constants, a state dict, a decorator and quantizing leave no tensor with grad: `.detach()` is not needed.
        (
            mutants.drops_detach,
            ("runtime/moved", "runtime/state_dict", "runtime/under_no_grad", "TNP105/quantized", "TNP106/coo_tensor"),
        ),
        # Only the CPU has quantized and sparse tensors in every build of torch, and the last is made there.
        (mutants.drops_cpu, ("TNP105/quantized", *_SPARSE, "TNP104/after_cpu", "runtime/clean_made_dense")),
        (mutants.drops_casts, ()),
        (mutants.repairs_only_the_first, ()),
        (mutants.links_the_wrong_receiver, ()),
    ],
)
def test_the_matrix_catches_a_broken_rewriter(mutant: mutants.Mutant, harmless: tuple[str, ...]) -> None:
    """In every fixture that the mutant spoils."""
    present = [device for device in devices.DEVICES if not devices.unavailable(device)]
    if present == ["cpu"]:
        _require(accelerator.DEVICE)
    spoiled, caught = [], []
    for fixture in FIXTURES:
        repaired = fix_source(fixture.text, unsafe=True)
        broken = mutant(fixture.text, repaired)
        if fixture.name in harmless or mutants.same_code(broken, repaired):
            continue
        spoiled.append(fixture.name)
        if any(cell.problem for device in present for cell in run_matrix(fixture, device, broken)):
            caught.append(fixture.name)
    assert spoiled
    assert caught == spoiled


@pytest.mark.parametrize("mutant", [mutants.copies, mutants.casts])
def test_the_matrix_sees_memory_and_dtype(mutant: mutants.Mutant) -> None:
    bare = _BY_NAME["runtime/bare"]
    broken = mutant(bare.text, fix_source(bare.text, unsafe=True))
    assert any(cell.problem for cell in run_matrix(bare, "cpu", broken))


@pytest.mark.slow
@pytest.mark.parametrize("links", ["both", "needed"])
@pytest.mark.parametrize("device", _DEVICES)
def test_a_repair_heals_and_changes_no_value(device: str, links: Literal["both", "needed"]) -> None:
    """In any fixture, executable by its header or not."""
    _require(device)
    cells = list(runtime_functions.run_all(device, links))
    assert cells
    assert not [str(cell) for cell in cells if cell.problem]


def test_silence_on_a_function_that_raises_is_seen() -> None:
    original = b"import torch\ndef value(x: torch.Tensor): return x.numpy()\n"
    for fixture, is_seen in (("written here", True), ("noqa/written here", False)):
        cells = runtime_functions.run_functions(fixture, original, original, "cpu")
        assert bool([cell for cell in cells if cell.problem]) is is_seen


def test_a_repair_that_changes_a_value_is_seen() -> None:
    original = b"import torch\ndef value(x: torch.Tensor): return x.numpy()\n"
    repairs = {
        b"x.detach().cpu().numpy()": False,
        b"x.cpu().numpy()": True,
        b"x.detach().cpu().neg().numpy()": True,
        b"x.detach().cpu().gone().numpy()": True,
    }
    for repair, is_wrong in repairs.items():
        cells = runtime_functions.run_functions("written here", original, original.replace(b"x.numpy()", repair), "cpu")
        assert bool([cell for cell in cells if cell.problem]) is is_wrong, repair
