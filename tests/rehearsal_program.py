"""A program that converts tensors in many ways; `# CODE` at the end of a line is what a rehearsal must say of it.

Run with `cpu` it converts nothing that is on the accelerator.
"""

import multiprocessing
import sys
from operator import methodcaller

import matplotlib as mpl
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

mpl.use("Agg")
import matplotlib.pyplot as plt

DEVICE = torch.device("cpu" if "cpu" in sys.argv else "cuda")


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        weight = torch.tensor([float(index)], requires_grad=True)
        return (weight * weight).numpy()  # TNP101


def decorated(function):
    def wrapper(value):
        return function(value).numpy()  # TNP101

    return wrapper


@decorated
def twice(value):
    return value * 2


def in_child(weight):
    return float(weight.sum().numpy())  # TNP101


def calls(net, x):
    y = net(x)
    chained = (
        y
        .relu()
        .numpy()  # TNP101
    )
    text = f"{y.sum().numpy():.3f} {y.detach().cpu().sum().numpy():.3f}"  # TNP101
    both = y[0].cpu().numpy(), y[1].detach().cpu().numpy()  # TNP102
    rows = [row.detach().numpy() for row in x.to(DEVICE)]  # TNP103
    function = lambda value: value.numpy()  # TNP101
    function(y)
    list(map(methodcaller("numpy"), [y]))  # TNP101
    half = y.detach().cpu().bfloat16().numpy()  # TNP105
    sparse = x.detach().cpu().to_sparse().numpy()  # TNP106
    turned = torch.conj(y.detach().cpu().to(torch.complex64)).numpy()  # TNP107
    return chained, text, both, rows, half, sparse, turned


def functions(net, x):
    y = net(x)
    losses = [y.sum() for _ in range(3)]
    plt.plot(range(3), losses)  # TNP104
    table = np.stack([y.detach().cpu().numpy(), y])  # TNP104
    size = np.linalg.norm(net.weight)  # TNP104
    array = np.ones((4, 2), dtype=np.float32)
    array[1:] = y[1:]  # TNP108
    mixed = y - array  # TNP108
    alike = array == y  # TNP108
    return table, size, mixed, alike


def safe(net, x):
    y = net(x)
    try:
        found = y.numpy()
    except (RuntimeError, TypeError):
        found = y.detach().cpu().numpy()
    with torch.no_grad():
        net(x).cpu().numpy()
        net.weight.cpu().numpy()
    return found, y.tolist(), y.sum().item()


def never(x):
    return x.numpy()


def main():
    torch.manual_seed(0)
    net, x = nn.Linear(3, 2).to(DEVICE), torch.randn(4, 3).to(DEVICE)
    calls(net, x)
    functions(net, x)
    safe(net, x)
    twice(net.weight)
    for _ in DataLoader(Squares(), num_workers=2):
        pass
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(in_child, [torch.ones(2, requires_grad=True)])
    print("arguments", sys.argv[1:], __name__)


if __name__ == "__main__":
    main()
    sys.exit(3)
