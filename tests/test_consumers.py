"""libraries/*.json say of NumPy and the others what they do, and calls are read as the libraries read them."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tonumpy import check_source
from tonumpy.detectors import stores
from tonumpy.detectors.consumers import Refusal, _read, consumer_of, converting_arguments
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.sink_calls import find_consumers
from tonumpy.text.candidates import Site
from tonumpy.text.prefilter import CONSUMERS, RISKY_WORDS
from tonumpy.text.source import Source

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "src" / "tonumpy" / "detectors" / "libraries"
# Of each library so many rows are tried again: all of them take minutes.
EVERY = {"numpy": 40, "scipy": 60, "sklearn": 25, "matplotlib": 15, "pandas": 15, "cv2": 40, "json": 1}


@pytest.mark.slow
@pytest.mark.parametrize("library", EVERY)
def test_the_table_is_what_is_measured(library: str) -> None:
    pytest.importorskip("torch")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"not installed: {library}")
    command = [sys.executable, "scripts/measure_sinks.py", "--check", f"--every={EVERY[library]}", library]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (run.returncode, run.stdout.split()) == (0, []), f"scripts/measure_sinks.py {library} writes it anew"


def test_each_table_is_of_a_library_that_a_file_is_parsed_for() -> None:
    tables = {path.stem for path in TABLES.glob("*.json") if json.loads(path.read_text("utf-8"))["functions"]}
    assert tables - {*CONSUMERS} == {"math", "random", "torch"}, "what many import, and few give tensors to"
    assert {*CONSUMERS} - tables == {"mpl_toolkits"}, "a part of matplotlib"


def test_what_is_stored_is_looked_at_for_each_library_whose_table_speaks_of_it() -> None:
    tables = {path.stem: json.loads(path.read_text("utf-8"))["functions"] for path in TABLES.glob("*.json")}
    with_stores = {name for name, rows in tables.items() if any(row.endswith("#__setitem__") for row in rows)}
    known = {each.rpartition(" ")[2] for each in stores.LIBRARIES}
    assert with_stores - known == {"scipy"}, "whose netcdf_file is looked for"


def test_only_the_tables_of_what_is_imported_are_read() -> None:
    code = "import torch\nimport matplotlib.pyplot as plt\n\n\ndef f(x: torch.Tensor):\n    plt.plot(x.cuda())\n"
    program = (
        "import sys\nread = []\n"
        "sys.addaudithook(lambda event, given: read.append(str(given[0])) if event == 'open' else None)\n"
        "from tonumpy import check_source\n"
        f"assert len(check_source({code!r})) == 1\n"
        "print(*[name for name in read if name.endswith('.json')])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [Path(name).name for name in run.stdout.split()] == ["matplotlib.json"]


def test_what_numpy_hands_to_the_tensor_itself_is_no_conversion() -> None:
    for name in ("squeeze", "nonzero", "shape"):
        consumer = consumer_of("numpy", name)
        assert consumer is not None
        assert consumer.parameters[0].takes.keys() == {"items"}, name
    for name in ("mean", "sum", "std", "max"):  # with arguments that it does not take
        consumer = consumer_of("numpy", name)
        assert consumer is not None
        assert consumer.parameters[0].takes["tensor"] == Refusal("", "TypeError")
    assert consumer_of("numpy", "set_printoptions") is None


@pytest.mark.parametrize(
    ("library", "name", "is_known"),
    [
        ("numpy", "asarray", True),
        ("numpy", "amax", True),  # stands for max
        ("numpy.linalg", "norm", True),
        ("matplotlib.pyplot", "plot", True),
        ("matplotlib.pyplot.subplots", "plot", True),
        ("matplotlib.pyplot", "set_data", False),  # no method of a module
        ("sklearn.cluster.KMeans", "fit", True),
        ("torch", "asarray", False),
        ("numpy", "plot", False),
        ("", "plot", False),
    ],
)
def test_the_consumer_of_a_call(library: str, name: str, is_known: bool) -> None:
    assert (consumer_of(library, name) is not None) is is_known


def test_a_line_of_a_table() -> None:
    line = ("a:0 tensor~ items=gd (v)", ":-1 tensor!ValueError values!!TypeError (v, v)", "b: items (v, b=v)")
    first, second, third = _read(line).parameters
    assert (first.name, first.position) == ("a", 0)
    assert first.takes == {"tensor": Refusal("gdbs", keeps_value=False), "items": Refusal("gd")}
    assert (second.name, second.position) == (None, -1)
    assert second.takes == {"tensor": Refusal("", "ValueError"), "values": Refusal("", "TypeError", False)}
    assert (third.name, third.position) == ("b", None)


def test_a_line_of_a_table_with_errors_of_the_library() -> None:
    line = (
        "a:0 tensor~=gd@ValueError:d,x.y.Own:g items!x.y.Own (v) | what it says (of it) | more",
        "b: items (b=v) | no",
    )
    first, second = _read(line).parameters
    assert first.takes == {
        "tensor": Refusal(
            "gd", keeps_value=False, errors=(("d", "ValueError"), ("g", "x.y.Own")), words="what it says (of it) | more"
        ),
        "items": Refusal("", "x.y.Own", words="what it says (of it) | more"),
    }
    assert second.takes == {"items": Refusal("gdbs")}, "NumPy's own words are in no table"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("numpy.asarray(x)", ["x"]),
        ("numpy.asarray(a=x)", ["x"]),
        ("numpy.save(f, x)", ["x"]),
        ("numpy.save(arr=x, file=f)", ["x"]),
        ("numpy.interp(x, y, z)", ["x", "y", "z"]),
        ("numpy.percentile(x, q)", ["x"]),
        ("numpy.interp(x, *y, z)", ["x"]),
        ("numpy.asarray(*x, **y)", []),
        ("matplotlib.pyplot.plot(x, y, 'r', label=z)", ["x", "y", "'r'"]),
    ],
)
def test_the_arguments_that_convert(call: str, arguments: list[str]) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    library, _, name = ast.unparse(node.func).rpartition(".")
    consumer = consumer_of(library, name)
    assert consumer is not None
    assert [ast.unparse(argument.node) for argument in converting_arguments(node, consumer)] == arguments


def found_in(text: str) -> list[Site]:
    source = Source.from_text(text, "example.py")
    return find_consumers(source, PossibleTensors(source))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("import numpy as np\nnp.asarray(x)", 1),
        ("from numpy import asarray as a\na(x)", 1),
        ("from numpy import (\n    array,\n    stack,\n)\nstack([x, y])", 1),
        ("try:\n    import numpy as np\nexcept ImportError:\n    np = None\nnp.exp(x)", 1),
        ("import matplotlib.pyplot as plt\nax.plot(x)\nplt.gca().plot(x)", 2),
        ("import numpy as np\nax.plot(x)", 0),
        ("import numpy as np\nnp.zeros(x)", 0),
        ("import numpy as np\nnp.asarray(1), np.array([1, 2]), np.array(np.exp(1)), np.array(x.shape)", 0),
        ("import numpy as np\nnp.asarray(x.numpy()), np.mean([x.item()]), np.array(len(x))", 0),
        ("import torch\ntorch.stack(x)", 0),
        ("from .numpy import asarray\nasarray(x)", 0),
        ("import numpy as np\nrandom.choice(x)", 1),
        ("import random\nimport numpy as np\nrandom.choice(1)", 0),
    ],
)
def test_the_calls_that_are_looked_at(text: str, count: int) -> None:
    assert len(found_in(f"{text}\nx = y.cuda()")) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(x):\n    np.asarray(x.cuda())\ndef g(x):\n    np.asarray(x)", 1),
        ("def f(x):\n    np.asarray(x)\ndef g(x):\n    x.cuda()", 0),
        ("class A:\n    def f(self):\n        np.asarray(self.x)\n    def g(self):\n        self.x = x.cuda()", 1),
        ("class A:\n    def f(self):\n        np.asarray(1)\n    def g(self):\n        self.x = x.cuda()", 0),
        ("x = x.cuda()\ndef f(x):\n    np.asarray(x)\nnp.asarray(x)", 1),
        ("def f(x):\n    cuda = x\n    y = [x]\n    np.asarray(y)", 0),
        ("def f(x):\n    np.asarray(x)\ndef g(x):\n    f(x.cuda())\ndef h(x):\n    np.asarray(x)", 1),
        ("def f(x):\n    np.asarray(g(x))\ndef g(x):\n    return x.cuda()", 1),
        ("def f(xs, device):\n    ys = []\n    for x in xs:\n        ys.append(x.to(device))\n    np.asarray(ys)", 1),
        (
            "def f(xs, device):\n    ys = []\n    for x in xs:\n        ys.append(x.cuda().item())\n    np.asarray(ys)",
            0,
        ),
        ("def f(x, device):\n    y = x.to(device).cpu().numpy()\n    z = [v for v in y]\n    np.asarray(z)", 0),
        ("def f(x, device):\n    y = z = x.to(device).tolist()\n    np.asarray(y + z), np.asarray(y[0])", 0),
        ("def f(model, x):\n    model.cuda()\n    y = model(x)\n    np.asarray(y if y else 0)", 1),
        ("def f(device):\n    model = make().to(device)\n    x = np.zeros(3)\n    y = model(x)\n    np.asarray(x)", 0),
        ("def f(device):\n    model.to(device)\n    x = load().to(device)\n    y = model(x)\n    np.asarray(y)", 1),
        ("def f(device):\n    model = make(device).to(device)\n    np.asarray(model(1)), np.asarray(model.w)", 2),
        ("def f(model, place):\n    model.to(place.device)\n    for x in np.ones(3):\n        np.asarray(x)", 0),
        ("def f(device):\n    model = lambda x: x.to(device)\n    np.asarray(model(1))", 1),
        ("def f(x):\n    x.requires_grad = True\n    np.asarray(x)", 1),
    ],
)
def test_only_where_something_may_go_wrong(text: str, count: int) -> None:
    assert len(found_in(f"import numpy as np\n{text}")) == count


@pytest.mark.parametrize(
    "text",
    [
        *("x.cuda()", "x.to(y)", "x.xpu()", "x.npu()", "x.requires_grad_()", "nn.Parameter(x)"),
        *("x.to(torch.bfloat16)", "x.to(torch.float8_e5m2)", "x.to(torch.complex32)", "x.chalf()", "x.to_mkldnn()"),
        *("torch.quantize_per_tensor(x)", "x.to_sparse()", "torch.sparse_csr_tensor(x)", "x.conj()"),
        *("torch.ones(3, device=x)", "torch.ones(3, requires_grad=x)", "model(x)", "net(x)", "network(x)"),
        *("nn.Linear(2, 2)(x)", "x.weight", "x.bias", "list(x.parameters())"),
    ],
)
def test_every_risk_is_a_word_that_a_file_is_parsed_for(text: str) -> None:
    assert any(word in text for word in RISKY_WORDS)
    found = found_in(f"import numpy as np\nimport torch\ny = {text}\nz = 1\nnp.exp(y)\nnp.exp(z)\n")
    assert [ast.unparse(site.call) for site in found] == ["np.exp(y)"]


@pytest.mark.parametrize(
    "text",
    [
        *('x.to("cpu")', "x.to('cpu', copy=True)", "x.to(dtype=kind)", "x.to(torch.float32)", "x.together(y)"),
        *('"cpu"', 'torch.ones(3, device="cpu")', "x.device == y", "torch.Generator(device=x)", 'torch.device("cpu")'),
        *("torch.ones(3, requires_gradient=x)", "weight", "nn.functions", "helper(x.cuda())"),
    ],
)
def test_what_names_the_cpu_alone_or_no_tensor_is_no_risk(text: str) -> None:
    assert found_in(f"import numpy as np\nimport torch\ny = {text}\nnp.exp(y)\n") == []


def test_a_chain_of_hundreds_of_calls_has_a_name() -> None:
    text = (
        f"import numpy as np, torch\ndef f(x: torch.Tensor):\n    np{'.a()' * 240}.median(x)\n    np.median(x.cuda())\n"
    )
    assert [finding.code for finding in check_source(text, select=["TNP104"])] == ["TNP104"]


def test_each_plot_of_a_long_script_is_followed() -> None:
    """The statements of a script, or of all cells of a notebook, are one scope: the last ones count as the first."""
    fit = """\
import matplotlib.pyplot as plt
import torch

def fit(x, rate):
    weights = torch.zeros(x.size(1), 1, requires_grad=True)
    error = torch.mm(x, weights).sum()
    error.backward()
    moved = weights.detach() - rate * weights.grad
    return moved.requires_grad_()
"""
    plots = [f"\npoints = torch.randn({n}, 2)\nweights = fit(points, {n})\nplt.plot(weights)\n" for n in range(1, 200)]
    assert len(check_source(fit + "".join(plots))) == len(plots)
