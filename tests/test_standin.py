"""Programs on the stand-in end as on the CPU, and what real hardware refuses is told of at its row."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from time_limits import PATIENCE

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_stop_raises_what_torch_raises(tmp_path: Path) -> None:
    done = run(STOPS, tmp_path, stop=True)
    assert done.output.replace("Tensor.dense()", "Tensor.to_dense()") == REFUSALS  # torch 2.6 has the former
    assert [": ".join(told.error or ()) for told in done.told] == done.output.splitlines()


RESTORED = """
    import torch
    import tonumpy.rehearsal.standin as standin

    def state():
        owners = [torch, torch._C, torch.accelerator, torch.jit, torch.serialization, torch.random, torch.optim]
        owners += [torch.cuda, torch.cuda.memory, torch.cuda.random, torch.mps, torch.xpu, torch.amp.autocast_mode]
        owners += [torch.backends.cuda, torch.backends.mps, torch.backends.mha, torch.nn.parallel.scatter_gather]
        owners += [torch._C, torch._VF, torch.nn.functional]
        owners += [torch.Tensor, torch.nn.Module, torch.UntypedStorage, torch.storage._StorageBase, torch.utils.data]
        found = {(id(owner), name): id(value) for owner in owners for name, value in vars(owner).items()}
        for key in ("CUDA", "MPS", "XPU", "CPU"):
            found[key] = sorted(torch._C._dispatch_get_registrations_for_dispatch_key(key))
        found["available"] = torch.cuda.is_available(), torch.accelerator.is_available()
        return found

    def refusal():
        try:
            torch.ones(2, device="cuda")
        except (AssertionError, RuntimeError) as error:
            return str(error)

    first = refusal()  # "Torch not compiled with CUDA enabled", or "Found no NVIDIA driver on your system"
    for kind in ("cuda", "mps", "xpu"):
        before = state()
        with standin.pretend(kind, lambda event, tensor: None):
            inside = state()
            torch.ones(2, device=kind).sum().item()
        after = state()
        assert inside != before
        assert after == before, [key for key in before if after.get(key) != before[key]]
        assert refusal() == first != None, refusal()
        print("as it was")
"""


@pytest.mark.slow
def test_torch_is_as_it_was_afterwards(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(RESTORED), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["as it was"] * 3


NAMED = """
    import sys
    import torch
    kind = sys.argv[1]
    model = torch.nn.Linear(2, 2).to(kind)
    x = torch.ones(2, device=kind)
    with torch.autocast(kind):
        assert model(x).dtype is torch.float16
        assert torch.mm(model.weight, model.weight).dtype is torch.float16  # it equals `torch.spmm`
    model(x).sum().backward()
    print(x.device, model.weight.grad.device, x.is_cuda, torch.cuda.is_available(), getattr(torch, kind).is_available())
    model(x).numpy()  # refused: device,grad
    x.cpu().numpy()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mps", "xpu", "npu"])
def test_the_device_has_the_name_that_was_asked_for(tmp_path: Path, kind: str) -> None:
    done = run(NAMED, tmp_path, kind, device=kind)
    assert done.code == 0, done.errors
    assert done.output.split() == [f"{kind}:0", f"{kind}:0", "False", "False", "True"]
    assert done.refused == marks(NAMED)
    errors = [told.error[1] for told in done.told if told.error]
    assert [error.partition(" to numpy")[0] for error in errors] == [f"can't convert {kind}:0 device type tensor"]


EQUAL = """
    import numpy as np
    import torch
    a, t = np.ones(2), torch.ones(2, device="mps", requires_grad=True)
    left = a == t  # refused: device
    right = t == a  # refused: device
    a != t, np.float64(1) == t, t == np.array(1.0), t == t.detach(), t.cpu() == a
    torch.from_numpy(a) == t  # refused: mixed
    print(type(left).__name__, left.device, left.tolist(), right.tolist())
"""


@pytest.mark.slow
def test_an_array_and_a_tensor_that_are_compared_are_of_two_devices(tmp_path: Path) -> None:
    done = run(EQUAL, tmp_path, device="mps")
    assert done.code == 0, done.errors
    assert done.output.split() == ["Tensor", "cpu", "[True,", "True]", "[True,", "True]"]
    assert done.refused == marks(EQUAL)
    message = "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"
    assert {(told.way, told.error) for told in done.told} == {("operator", ("RuntimeError", message))}
    assert [told.device for told in done.told] == ["mps:0", "mps:0", "cpu"]


BROKEN = """
    import sys
    import warnings
    import torch
    from tonumpy.rehearsal.standin import mixing, numpy_conversions
    from tonumpy.rehearsal.standin.reporting import Reports

    if sys.argv[1] == "errors":
        warnings.simplefilter("error")

    def broken(*arguments, **options):
        raise ValueError("broken")

    def breaks(module, name, run):
        whole = getattr(module, name)
        setattr(module, name, broken)
        try:
            print(run())
        finally:
            setattr(module, name, whole)

    x, host, net = torch.ones(2, device="cuda"), torch.ones(2), torch.nn.Linear(2, 2)
    breaks(Reports, "event", lambda: x.div(host).tolist())
    breaks(mixing, "words", lambda: x.sub(host).tolist())
    breaks(Reports, "event", lambda: x.numpy().tolist())
    breaks(Reports, "event", lambda: host.numpy().tolist())
    try:
        value = breaks(numpy_conversions, "repaired", lambda: x.numpy())
        print(value)
    except TypeError as error:
        print(str(error)[:20])
    print(torch.compile(net)._orig_mod is net)
"""
BROKEN_SAYS = """\
[1.0, 1.0]
[0.0, 0.0]
[1.0, 1.0]
[1.0, 1.0]
can't convert cuda:0
True
"""


@pytest.mark.slow
@pytest.mark.parametrize("warnings", ["warnings", "errors"])
def test_an_error_of_the_stand_in_ends_no_program(tmp_path: Path, warnings: str) -> None:
    done = run(BROKEN, tmp_path, warnings)
    assert (done.code, done.output) == (0, BROKEN_SAYS), done.errors
    for name in (
        "a refusal (operator)",
        "a refusal (numpy)",
        "Tensor.numpy: this",
        "Tensor.numpy: it cannot",
        "torch.compile:",
    ):
        assert name in done.errors, name


LOST = """
    import gc
    import torch
    x, host = torch.ones(2, device="cuda"), torch.ones(2)
    unseen = torch._C._from_dlpack(torch._C._to_dlpack(host))  # made by C++ out of sight: it may lie anywhere
    print((x + unseen).device, (unseen + 1).device, unseen.numpy().tolist(), (unseen + host).numpy().tolist())
    x + host  # refused: mixed
    gc.set_threshold(20, 2, 2)
    kept = [torch.ones(2, device="cuda").view(2)[:1] for _ in range(2000)]
    del x
    print({each.device for each in kept}, gc.collect() >= 0)
"""


def test_a_tensor_without_a_mark_is_part_of_no_finding(tmp_path: Path) -> None:
    done = run(LOST, tmp_path)
    assert (done.code, done.refused) == (0, marks(LOST)), done.errors
    assert done.output == "cuda:0 cpu [1.0, 1.0] [2.0, 2.0]\n{device(type='cuda', index=0)} True\n"


WRITTEN = """
    import torch
    for device in ("cpu", "cuda"):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)).to(device)
        optimizer = torch.optim.Adam(net.parameters(), foreach=True)
        out = net(torch.ones(1, 2, device=device)).sum()
        out.backward(retain_graph=True)
        optimizer.step()
        try:
            out.backward()
        except RuntimeError as error:
            print(str(error)[:70])
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        print(norm.device.type, [each.grad._version for each in net.parameters()])
"""
WRITTEN_SAYS = """\
one of the variables needed for gradient computation has been modified
cpu [1, 1, 1, 1]
one of the variables needed for gradient computation has been modified
cuda [1, 1, 1, 1]
"""


@pytest.mark.slow
def test_writing_many_tensors_at_once_is_counted(tmp_path: Path) -> None:
    done = run(WRITTEN, tmp_path)
    assert (done.code, done.output) == (0, WRITTEN_SAYS), done.errors


RARE = """
    import torch
    x = torch.arange(4, dtype=torch.uint8, device="cuda").view(torch.bits8)
    y = x.clone()
    print(y.device, y.dtype, y.view(torch.uint8).tolist(), torch.empty(3, dtype=torch.bits16, device="cuda").device)
"""


@pytest.mark.slow
def test_rare_dtypes_lie_on_the_device(tmp_path: Path) -> None:
    done = run(RARE, tmp_path)
    assert (done.code, done.output) == (0, "cuda:0 torch.bits8 [0, 1, 2, 3] cuda:0\n"), done.errors


QUERIES = """
    import torch
    torch.cuda.nvtx.range_push("a")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("b"):
        torch.cuda.seed_all()
    torch.cuda.default_generators[0].manual_seed(1)
    first = torch.rand(2, device="cuda").tolist()
    torch.cuda.default_generators[0].manual_seed(1)
    print(first == torch.rand(2, device="cuda").tolist(), torch.cuda.get_allocator_backend(), torch.cuda.temperature())
    torch.set_default_tensor_type(torch.cuda.DoubleTensor)
    print(torch.ones(2).device, torch.tensor([1.0]).dtype)
    torch.set_default_tensor_type("torch.FloatTensor")
    print(torch.ones(2).device, torch.tensor([1.0]).dtype)
    assert torch.__config__.show().startswith("PyTorch built with")
"""


@pytest.mark.slow
def test_the_module_of_the_device_answers(tmp_path: Path) -> None:
    done = run(QUERIES, tmp_path)
    assert done.code == 0, done.errors
    assert done.output.splitlines() == ["True native 0", "cuda:0 torch.float64", "cpu torch.float32"]


OUTPUTS = """
    import torch
    a, b = torch.arange(5.0), torch.arange(25.0).reshape(5, 5)
    for first, second in ((a, b), (b, a), (b, b), (a, a)):
        expected = torch.matmul(first, second)
        for size in (expected.shape, (0,), (100,)):
            out = torch.full(size, 7.0, device="cuda")
            alias = out.view(-1)[:1]
            assert torch.matmul(first.cuda(), second.cuda(), out=out) is out
            trash = [torch.full((5, 5), 9.0, device="cuda") for _ in range(20)]
            assert torch.equal(out.cpu(), expected), (size, out, expected)
    x = torch.ones(3, device="cuda")
    x.resize_(5)
    assert x[:3].tolist() == [1, 1, 1]
    x.resize_(2)
    assert x.tolist() == [1, 1]
    print("ok")
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_outputs_may_have_any_size(tmp_path: Path) -> None:
    done = run(OUTPUTS, tmp_path)
    assert (done.code, done.output) == (0, "ok\n"), done.errors


SHARED = """
    import torch
    position, frames, copies, last = torch.zeros(2), [], [], None
    for step in range(4):
        position.add_(1)
        frames.append(position.numpy())  # shared
        copies.append(position.numpy().copy())
        last = position.numpy()
    parts = [torch.full((2,), float(step)).numpy() for step in range(4)]
    other = torch.zeros(2)
    for step in range(4):
        other.add_(1)
        last = other.numpy()
        torch.optim.SGD([torch.nn.Parameter(other)], lr=1.0)
"""


@pytest.mark.slow
def test_arrays_that_are_kept_and_overwritten_are_told_of(tmp_path: Path) -> None:
    done = run(SHARED, tmp_path)
    assert done.code == 0, done.errors
    shared = {told.row for told in done.told if told.way == "shared write"}
    assert shared == {row for row, line in enumerate(textwrap.dedent(SHARED).splitlines(), 1) if "# shared" in line}


WRAPPED = """
    import numpy as np
    import torch
    x = torch.ones(2, device="cuda")
    print(type(np.subtract(x, [1.0, 1.0])).__name__)  # refused: device
    print(type(np.square(x.sum())).__name__)  # refused: device
    print(type(np.subtract(x.cpu(), [1.0, 1.0])).__name__)
"""


def test_what_numpy_makes_of_a_refused_tensor_is_a_tensor(tmp_path: Path) -> None:
    """As of one that is not refused."""
    done = run(WRAPPED, tmp_path)
    assert done.output.split() == ["Tensor", "Tensor", "Tensor"]
    assert done.refused == marks(WRAPPED)


WATCHED = """
    import torch
    from torch import nn
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Own(torch.Tensor):
        names = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3, device="cuda")
    with Mode() as mode:
        places = (x + 1).sum().device, torch.zeros(2, device="cuda").device, x.to("cpu").device, x[0].device
    print([name for name in mode.names if name != "__get__"], *places)
    own = x.as_subclass(Own)
    print(type(own + 1).__name__, (own + 1).device, own.cpu().device, set(Own.names) - {"__get__"} == {"add", "cpu"})
    class Scalar:  # no tensor, and torch's functions are looked up as the program knows them
        handled = {torch.mean: "mean", torch.add: "add"}

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return cls.handled[func]

    print(torch.mean(Scalar()), torch.add(x, Scalar()), torch.fx.symbolic_trace(nn.ReLU())(x).device)
    torch.set_default_device("cpu")
    attention = nn.TransformerEncoderLayer(4, 2, batch_first=True).cuda().eval()
    print(attention(torch.ones(1, 2, 4, device="cuda")).device)
    torch.set_default_device("cuda")
    print(torch.ones(2).device, nn.Linear(2, 2).weight.device, torch.frombuffer(b"1234", dtype=torch.uint8).device)
    torch.set_default_device(None)
    flat, rows = torch.eye(3, device="cuda").to_sparse(), torch.eye(3, device="cuda").to_sparse_csr()
    print(flat.values().device, flat.coalesce().indices().device, rows.values().device, (rows @ x.T).device)
    print(torch.from_dlpack(x).tolist(), torch.arange(5.0, device="cuda")[2:].as_strided((2,), (1,)).tolist())
    print(torch.func.grad(lambda v: (v**2).sum())(x).device, torch.func.vmap(lambda row: row.sum())(x).device)
    with torch.autocast("cuda", torch.bfloat16):
        print(nn.LSTM(3, 4).cuda()(x)[0].dtype, torch.softmax(x, -1).dtype, (x @ x.T).dtype)
    meta = nn.Linear(2, 2, device="meta")
    print(meta.weight.device, (meta.weight + 1).device, meta.to_empty(device="cuda").weight.device)
"""
WATCHED_SAYS = """\
['add', 'sum', 'zeros', 'to', '__getitem__'] cuda:0 cuda:0 cpu cuda:0
Own cuda:0 cpu True
mean add cuda:0
cuda:0
cuda:0 cuda:0 cpu
cuda:0 cuda:0 cuda:0 cuda:0
[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]] [2.0, 3.0]
cuda:0 cuda:0
torch.bfloat16 torch.float32 torch.bfloat16
meta meta cuda:0
"""


def test_marks_are_kept_and_modes_and_subclasses_see_the_calls_of_the_program_alone(tmp_path: Path) -> None:
    done = run(WATCHED, tmp_path)
    assert (done.code, done.output) == (0, WATCHED_SAYS), done.errors
    assert done.told == ()


def test_a_function_that_was_imported_before_carries_marks(tmp_path: Path) -> None:
    """As one of a plug-in of pytest."""
    (tmp_path / "early.py").write_text(
        "import late\nfrom tonumpy.rehearsal.standin import pretend\nwith pretend('cuda', print):\n    late.run()\n"
    )
    (tmp_path / "late.py").write_text(
        "import torch\nfrom torch import relu\n\ndef run():\n    print(relu(torch.ones(2, device='cuda')).device)\n"
    )
    done = subprocess.run(
        [sys.executable, "early.py"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout == "cuda:0\n", done.stderr
