"""What `torch.compile` compiles, and what stands beside it: a mark stands where a conversion raises.

With an argument all runs on that device, compiled for real, and `outside` wants the error.
"""

import collections
import sys

import numpy as np
import torch
from torch import nn

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
compiled = torch.compile(backend="eager")
Pair = collections.namedtuple("Pair", "first rest")
x = torch.ones(3, device=device, requires_grad=True)


def tried(function, *args):
    try:
        function(*args)
    except (TypeError, RuntimeError):
        return None
    raise AssertionError(f"{function} does not raise")


outside = tried if device == "cpu" else lambda function, *args: function(*args)


@torch.compile(backend="eager")
def decorated(t):
    return torch.from_numpy(np.sin(t.numpy()) * 2)


y = decorated(x)
y.sum().backward()
assert y.device.type == x.device.type and x.grad is not None

of_lambda = torch.compile(lambda t: np.cos(t.numpy()), backend="eager")
assert type(of_lambda(x)) is np.ndarray


def make(scale):
    def inner(t):
        return np.tanh(t.numpy() * scale)

    return torch.compile(inner, backend="eager")


make(2.0)(x)


def helper(t):
    return np.exp(t.numpy())  # TNP101


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, t):
        out = self.linear(t)
        return out, helper(out), self.size(out)

    def size(self, t):
        return np.abs(t).sum()


net = Net().to(device)
net.compile(backend="eager")
out, *_ = net(x)
out.sum().backward()
assert net.linear.weight.grad is not None
wrapped = torch.compile(Net().to(device), backend="eager")
wrapped(x)
outside(helper, out)


@compiled
def mixed(t):
    n = t.numpy()
    return (n * t + t * n + np.float64(2) * t).sum() + torch.as_tensor(n[1:].reshape(2, 1).mean(), dtype=torch.float32)


mixed(x).backward()


@compiled
def several(t):
    return Pair(t.numpy(), [np.stack([t, t]), {"a": np.isnan(t)}])


assert {type(several(x).first), type(several(x).rest[0]), type(several(x).rest[1]["a"])} == {np.ndarray}


@torch.compiler.disable
def log(t):
    return t.numpy()  # TNP101


@compiled
def logging(t):
    log(t)
    return t * 2


outside(logging, x)


class Logged(Net):
    @torch._dynamo.disable()
    def size(self, t):
        return np.linalg.norm(t)  # TNP104


logged = Logged().to(device)
logged.compile(backend="eager")
outside(logged, x)


def pandas_in_it(t):
    import pandas

    return pandas.Series(t)  # TNP104


outside(torch.compile(pandas_in_it, backend="eager"), x)


def without_counterpart(t):
    return np.digitize(t, np.zeros(1))  # TNP104


outside(torch.compile(without_counterpart, backend="eager"), x)
switched_off = torch.compile(lambda t: t.numpy(), disable=True)  # TNP101
outside(switched_off, x)
outside(lambda t: t.numpy(), x)  # TNP101


class Frozen(nn.Module):
    @torch.compile(backend="eager")
    def forward(self, t):
        weights = np.exp(-np.abs(t.numpy()))
        return nn.functional.mse_loss(t, torch.as_tensor(weights, dtype=torch.float32))


Frozen()(x).backward()
with torch.no_grad():
    several(x)
print("done", x.grad.device)
