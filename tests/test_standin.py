"""Programs on the stand-in end as on the CPU, and what real hardware refuses is told of at its row."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from standin_runs import marks, run

TRAINING = """
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(5):
        x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 2, (6,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss)
    print(loss.device, loss.is_cuda, model[0].weight.grad.device)
    np.asarray(losses[0])  # refused: device,grad
    np.asarray(loss.detach().cpu())
    loss.detach().numpy()  # refused: device
    loss.cpu().numpy()  # refused: grad
    with torch.no_grad():
        loss.cpu().numpy()
    loss.numpy(force=True)
    float(loss), loss.item(), loss.tolist()
    torch.ones(2, dtype=torch.bfloat16).numpy()  # refused: dtype
    torch.eye(2).to_sparse().numpy()  # refused: layout
    torch.ones(2, dtype=torch.complex64).conj().numpy()  # refused: bit
    print(len(losses))
"""


def test_a_training_loop_ends_and_its_conversions_are_told_of(tmp_path: Path) -> None:
    done = run(TRAINING, tmp_path)
    assert done.code == 0, done.errors
    assert done.output.split() == ["cuda:0", "True", "cuda:0", "5"]
    assert done.refused == marks(TRAINING)


STOPS = """
    import torch
    x = torch.ones(2, requires_grad=True)
    for convert in (
        lambda: x.to("cuda").numpy(),
        lambda: x.numpy(),
        lambda: x.detach().bfloat16().numpy(),
        lambda: torch.eye(2).to_sparse().numpy(),
        lambda: torch.ones(2, dtype=torch.complex64).conj().numpy(),
    ):
        try:
            convert()
        except (TypeError, RuntimeError) as error:
            print(f"{type(error).__name__}: {error}")
"""


REFUSALS = """\
TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.
RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.
TypeError: Got unsupported ScalarType BFloat16
TypeError: can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.
RuntimeError: Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead.
"""


def test_stop_raises_what_torch_raises(tmp_path: Path) -> None:
    done = run(STOPS, tmp_path, stop=True)
    assert done.output == REFUSALS
    assert [": ".join(told.error or ()) for told in done.told] == REFUSALS.splitlines()
