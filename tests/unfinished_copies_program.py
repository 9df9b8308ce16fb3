"""Ways to read what an asynchronous copy gives: a mark stands where nothing has waited for it."""

import io
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn

d = "cuda"
x = torch.arange(16.0, device=d)


def nb():
    return (x * 2).to("cpu", non_blocking=True)


def pend():
    return nb()


y = nb()
y.numpy()  # TNP204
y = nb()
torch.cuda.synchronize()
y.numpy()
y = nb()
torch.cuda.current_stream().synchronize()
y.numpy()
y = nb()
e = torch.cuda.Event()
e.record()
e.synchronize()
y.numpy()
y = nb()
(x * 3).sum().item()
y.numpy()
y = nb()
(x * 3).cpu()
y.numpy()
y = nb()
str(x)
y.numpy()
y = nb()
x.nonzero()
y.numpy()
y = nb()
if x.sum() > 3:
    pass
y.numpy()
y = nb()
y.cpu().numpy()  # TNP204
y = nb()
y.clone()  # TNP204
y = nb()
y.contiguous().numpy()  # TNP204
y = nb()
y + 1  # TNP204
y = nb()
y.to(torch.float64)  # TNP204
y = nb()
np.asarray(y)  # TNP204
y = nb()
y.tolist()  # TNP204
y = x.to(device="cpu", non_blocking=True)
y.numpy()  # TNP204
y = x.to(torch.device("cpu"), non_blocking=True)
y.numpy()  # TNP204
y = x.to("cpu", torch.float64, True)
y.numpy()  # TNP204
y = x.to(torch.ones(2), non_blocking=True)
y.numpy()  # TNP204
y = x.to("cpu", torch.float32, True)
y.numpy()  # TNP204
y = x.type("torch.FloatTensor", non_blocking=True)
y.numpy()  # TNP204
p = torch.empty(16, pin_memory=True)
p.copy_(x, non_blocking=True)
p.numpy()  # TNP204
p = torch.empty(16).pin_memory()
p.copy_(x, True)
p[:3].numpy()  # TNP204
p = torch.empty(16).pin_memory()
p[:4].copy_(x[:4], non_blocking=True)
p.numpy()  # TNP204
p.copy_(x)
p.numpy()
p[:] = x
p.numpy()
q = torch.empty(16)
q.copy_(x, non_blocking=True)
q.numpy()
y = nb()
y.view(4, 4).numpy()  # TNP204
x.numpy(force=True)
torch._foreach_copy_([p], [x], non_blocking=True)
p.numpy()  # of many tensors at once: missed on purpose
g = torch.ones(3, device=d, requires_grad=True)
y = (g * 2).to("cpu", non_blocking=True)
y.detach().numpy()  # TNP204
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    y = nb()
s.synchronize()
y.numpy()
with torch.cuda.stream(s):
    y = nb()
torch.cuda.current_stream().wait_stream(s)
y.numpy()  # TNP204
with torch.cuda.stream(s):
    y = nb()
torch.cuda.current_stream().wait_stream(s)
x.sum().item()
y.numpy()
with torch.cuda.stream(s):
    y = nb()
x.sum().item()
y.numpy()  # of another stream: missed on purpose
y = (x.sum()).to("cpu", non_blocking=True)
y.item()  # TNP204
y = (x.sum()).to("cpu", non_blocking=True)
float(y)  # TNP204
y = (x.sum()).to("cpu", non_blocking=True)
f"{y:.2f}"  # TNP204
y = nb()
print(y)  # TNP204
y = nb()
y.to("cuda", non_blocking=True)
y.shape, len(y), y.dtype, y.view(2, 8), torch.zeros_like(y)
y = nb()
y[0].item()  # TNP204
y = nb()
y[y > 3]  # TNP204
y = nb()
[v.item() for v in y]  # TNP204
e = torch.cuda.Event()
e.record()
y = nb()
e.synchronize()
y.numpy()  # of an event before the copy: missed on purpose
net = nn.Linear(2, 2).cuda().to("cpu", non_blocking=True)
net.weight.detach().numpy()
torch.set_default_device("cuda")
y = nb()
torch.set_default_device(None)
torch.ones(2).device
y.numpy()  # TNP204
with torch.device("cuda"):
    y = nb()
    y.numpy()  # TNP204
assert torch.ones(2).is_cpu
xs = [x.to("cpu", non_blocking=True) for _ in range(3)]
[v.numpy() for v in xs]  # TNP204
x.cpu().numpy()
torch.ones(3).to("cuda", non_blocking=True).cpu().numpy()
y = nb()
torch.stack([y, y])  # TNP204
y = nb()
y.sum()  # TNP204
y = nb()
y *= 2  # TNP204
y.numpy()
y = nb()
torch.save(y, io.BytesIO())  # TNP204
y = nb()
pickle.dumps(y)  # TNP204
y = nb()
host = torch.zeros(16)
host[:4] = y[:4]  # TNP204
y = nb()
host.copy_(y)  # TNP204
y = nb()
y.mul_(2)  # TNP204
y = nb()
y.zero_()
y = nb()
nn.functional.relu(y)  # TNP204
y = nb()
torch.cuda.Stream().wait_stream(torch.cuda.current_stream())
y.numpy()  # TNP204
y = nb()
e = torch.cuda.current_stream().record_event()
while not e.query():
    pass
y.numpy()
y = nb()
torch.accelerator.synchronize()
y.numpy()
y = nb()
time.sleep(0.2)
y.numpy()
y = nb()
time.sleep(0.001)
y.numpy()  # TNP204
y = nb()
for _ in y:  # views alone
    break


def read(row):
    return y[row].item()  # TNP204


y = nb()
with ThreadPoolExecutor(1) as pool:  # a thread that begins when the copy is on its way
    assert [*pool.map(read, range(2))] == [0, 2]
y = nb()
torch.cuda.synchronize()
with ThreadPoolExecutor(1) as pool:
    assert [*pool.map(lambda row: y[row].item(), range(2))] == [0, 2]


def view_before_the_wait():
    host = nb()
    done = torch.cuda.current_stream().record_event()
    view = host.numpy()
    done.synchronize()
    return view.sum()


def view_read_before_the_wait():
    host = nb()
    view = host.numpy()  # TNP204
    total = view.sum()
    torch.cuda.synchronize()
    return total


assert view_before_the_wait() == view_read_before_the_wait() == 240
