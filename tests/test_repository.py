"""What other files of a repository show of a function: its callers, all of them, and what they give it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.reads import Reads
from tonumpy.engine.names.repository import LONG_TEXT, MAX_SCANS, Searched, WordIndex, read_texts, top_of_repository
from tonumpy.inference.summaries.repository_callers import Mentions
from tonumpy.pipeline import check
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

PLOT = """\
import torch

def plot(x):
    return x.numpy()
"""
METRIC = """\
import torch

class Metric:
    def reset(self):
        self.seen = []

    def absorb(self, outputs):
        self.seen.append(outputs.cpu())

    def summary(self):
        return torch.cat(self.seen).numpy()
"""
UNDER_NO_GRAD = """\
import torch

def evaluate(model, loader, metric):
    with torch.no_grad():
        for batch in loader:
            metric.absorb(model(batch))
"""


_SETTINGS = Settings()
_LOW = Settings(confidence="low")


class Package:
    """A repository that is one package, `package`, which can be installed."""

    def __init__(self, top: Path) -> None:
        self.top = top
        (top / ".git").mkdir()
        self.write("pyproject.toml", "")
        self.write("package/__init__.py", "")

    def write(self, path: str, text: str) -> None:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def rows(self, path: str, settings: Settings = _SETTINGS) -> list[int]:
        """The rows of a file that are reported, when it is checked alone."""
        file = self.top / path
        return [each.start.row for each in check(Source(file.read_bytes(), str(file)), settings, Project())]


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


@pytest.mark.parametrize(
    "caller",
    [
        "from package.plots import plot\nplot(torch.ones(3))\n",
        "from .plots import plot\nplot(torch.ones(3))\n",
        "from package.plots import plot as draw\ndraw(torch.ones(3))\n",
        "from package import plots\nplots.plot(torch.ones(3))\n",
        "import package.plots\npackage.plots.plot(torch.ones(3))\n",
        "from package.plots import *\nplot(torch.ones(3))\n",
        "def main():\n    from .plots import plot\n    plot(torch.ones(3))\n",
        "from .plots import plot\nplot(np.ones(3))\n",
        "from .plots import plot\nplot([torch.ones(3)][0])\n",
        "try:\n    from . import mayavi as m\nexcept OSError:\n    from . import plots as m\nm.plot(torch.ones(3))\n",
        "try:\n    import drawing as m\nexcept ImportError:\n    from . import plots as m\nm.plot(torch.ones(3))\n",
        "from . import mayavi, plots\nm = mayavi if mayavi.is_there() else plots\nm.plot(torch.ones(3))\n",
    ],
)
def test_a_function_is_clean_by_its_callers(package: Package, caller: str) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/mayavi.py", "def plot(x):\n    pass\n\ndef is_there():\n    return False\n")
    assert package.rows("package/plots.py") == [4]
    package.write("package/use.py", f"import numpy as np\nimport torch\n{caller}")
    assert package.rows("package/plots.py") == []


@pytest.mark.parametrize(
    "other",
    [
        "from .plots import plot\ndef show(x):\n    plot(x)\n",  # nothing is known of what it gives
        "from .plots import plot\nplot(torch.ones(3).cuda())\n",
        "from .plots import plot\nhooks = [plot]\n",
        "from .plots import plot\nhooks = [plot]\nplot(torch.ones(3))\n",
        "from .plots import plot as draw\ndef show(x):\n    draw(x)\n",
        "try:\n    import drawing as m\nexcept OSError:\n    from . import plots as m\ndef show(x):\n    m.plot(x)\n",
        "from .plots import plot\nplot(\n",  # it cannot be parsed
    ],
)
def test_one_caller_that_is_not_safe_is_enough(package: Package, other: str) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    package.write("package/other.py", f"import torch\n{other}")
    assert package.rows("package/plots.py") == [4]


@pytest.mark.parametrize(
    "other",
    [
        "def plot(x):\n    return x\nplot(torch.ones(3).cuda())\n",
        "from matplotlib.pyplot import plot\nplot(torch.ones(3).cuda())\n",
        "def show(plot):\n    plot(torch.ones(3).cuda())\n",
        "class Canvas:\n    def plot(self, x):\n        return x\nCanvas().plot(torch.ones(3).cuda())\n",
    ],
)
def test_another_function_of_the_name_is_none_of_its_callers(package: Package, other: str) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    package.write("package/other.py", f"import torch\n{other}")
    assert package.rows("package/plots.py") == []


@pytest.mark.parametrize(
    "path", ["tests/test_plots.py", "examples/plots.py", "docs/plots.py", "package/tests/use.py", "tests/run.py"]
)
def test_tests_and_examples_alone_show_nothing(package: Package, path: str) -> None:
    package.write("package/plots.py", PLOT)
    package.write(path, "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == [4]


@pytest.mark.parametrize("path", ["run.py", "tools/plots.py", "scripts/plots.py"])
@pytest.mark.parametrize("given", ["torch.ones(3).cpu()", "np.ones(3)"])
def test_scripts_alone_show_what_users_of_a_package_are_likely_to_do(package: Package, path: str, given: str) -> None:
    use = "import numpy as np\nimport torch\nfrom package.plots import plot\n"
    package.write("package/plots.py", PLOT)
    package.write(path, f"{use}plot({given})\n")
    assert package.rows("package/plots.py") == []
    assert package.rows("package/plots.py", _LOW) == [4]
    assert package.rows("package/plots.py", Settings(disable_habits=("callers-in-scripts",))) == [4]
    package.write("other.py", f"{use}def show(x):\n    plot(x.cuda())\n")
    assert package.rows("package/plots.py") == [4]
    package.write("other.py", "")
    package.write("package/use.py", f"{use}plot({given})\n")
    assert package.rows("package/plots.py", _LOW) == []


METRIC_OF_FUNCTION = """\
class Metric:
    def __init__(self, function, jobs=1):
        self.function = function

    def add(self, outputs, **others):
        shown(function=self.function, outputs=outputs, **others)


def shown(function, outputs, lengths=None):
    if lengths is not None:
        outputs = [each[:length].cpu() for each, length in zip(outputs, lengths)]
    return [delayed(function)(each) for each in outputs]
"""


@pytest.mark.parametrize(
    ("metric", "use", "is_silent"),
    [
        (METRIC_OF_FUNCTION, "metric = Metric(function=plot)", True),
        (METRIC_OF_FUNCTION, "metric = Metric(plot, jobs=2)", True),
        (METRIC_OF_FUNCTION.replace("delayed(function)", "function"), "metric = Metric(plot)", True),
        (METRIC_OF_FUNCTION.replace("self.function, outputs", "print, outputs"), "metric = Metric(plot)", False),
        (METRIC_OF_FUNCTION.replace(".cpu()", ""), "metric = Metric(plot)", False),
        (METRIC_OF_FUNCTION + "\n\ndef add(function, x):\n    function(x)\n", "metric = Metric(plot)", True),
        (METRIC_OF_FUNCTION.replace("shown(", "self.function(outputs)\n        shown(", 1), "m = Metric(plot)", False),
        (METRIC_OF_FUNCTION.replace("shown(", "self.function(*outputs)\n        shown(", 1), "m = Metric(plot)", True),
        (METRIC_OF_FUNCTION, "metric = Metric(function=plot)\n\n\ndef show(x):\n    plot(x)", False),
        (METRIC_OF_FUNCTION, "metric = Metric(function=plot)\nhooks = [plot]", False),
        (METRIC_OF_FUNCTION, "metric = Metric(print, jobs=plot)", False),
        (METRIC_OF_FUNCTION, "import other\nmetric = other.Metric(function=plot)", False),
    ],
)
def test_a_class_that_moves_to_the_cpu_what_it_calls_a_function_with(
    package: Package, metric: str, use: str, is_silent: bool
) -> None:
    package.write("package/metric.py", metric)
    package.write("recipes/train.py", f"from package.metric import Metric\n{PLOT}\n\n{use}\n")
    assert package.rows("recipes/train.py") == ([] if is_silent else [5])
    assert package.rows("recipes/train.py", _LOW) == [5]
    assert package.rows("recipes/train.py", Settings(disable_habits=("callback-on-cpu",))) == [5]


@pytest.mark.parametrize(("conversion", "is_asked"), [("x.numpy()", True), ("x.cpu().detach().numpy()", False)])
def test_callers_elsewhere_are_asked_only_of_what_can_raise(
    package: Package, conversion: str, *, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How a complete chain is ordered is judged, too: that no caller elsewhere settles."""
    asked: list[bool] = []

    def noted(_: Mentions, scopes: object) -> bool:
        asked.append(scopes is not None)
        return False

    monkeypatch.setattr(Mentions, "may_show", noted)
    package.write("package/plots.py", PLOT.replace("x.numpy()", conversion))
    package.write("package/use.py", "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
    file = package.top / "package/plots.py"
    check(Source(file.read_bytes(), str(file)), Settings(select=("ALL",)), Project())
    assert bool(asked) is is_asked


def test_what_nobody_can_install_is_settled_by_what_is_there(package: Package) -> None:
    (package.top / "pyproject.toml").unlink()
    package.write("package/plots.py", PLOT)
    for path in ("tests/test_plots.py", "examples/plots.py"):
        package.write(path, "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
        assert package.rows("package/plots.py") == [4]
    package.write("run.py", "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == []


def test_callers_of_callers(package: Package) -> None:
    (package.top / "pyproject.toml").unlink()
    more = "\ndef plots(xs, draw):\n    for x in xs:\n        plot(draw(x))\n"
    package.write("package/plots.py", PLOT + more)
    assert package.rows("package/plots.py") == [4]
    use = "import torch\nfrom package.plots import plots\n"
    package.write("run.py", use + "def f(net, xs):\n    with torch.no_grad():\n        plots(xs, net.cpu())\n")
    assert package.rows("package/plots.py") == [4]  # where it is nobody says
    of_outputs = PLOT.replace("plot(x)", "plot(preds)").replace("x.numpy", "preds.cpu().numpy")
    package.write("package/plots.py", of_outputs + more)
    assert package.rows("package/plots.py") == []
    package.write("other.py", use + "def f(net, xs):\n    plots(xs, net)\n")
    assert package.rows("package/plots.py") == [4]


@pytest.mark.parametrize(
    ("given", "rows"),
    [("torch.ones(3, requires_grad=True)", [4]), ("net(x)", [4]), ("x", [])],
)
def test_callers_in_other_files_are_asked_before_cpu_alone(package: Package, given: str, rows: list[int]) -> None:
    package.write("package/plots.py", PLOT.replace("x.numpy", "x.cpu().numpy"))
    assert package.rows("package/plots.py") == []
    body = f"    net = torch.nn.Linear(3, 3)\n    plot({given})\n    plot(torch.zeros(3))\n"
    package.write("run.py", f"import torch\nfrom package.plots import plot\n\ndef f(x):\n{body}")
    assert package.rows("package/plots.py") == rows


def test_a_file_may_be_named_as_it_lies(package: Package, run_tonumpy: RunTonumpy) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    for path in ("package/plots.py", "package", str(package.top / "package" / "plots.py")):
        assert run_tonumpy("check", "--isolated", path).code == 0


def test_why_names_the_callers(package: Package, run_tonumpy: RunTonumpy) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/use.py", 'import torch\nfrom .plots import plot\nplot(torch.ones(3, device="cpu"))\n')
    told = run_tonumpy("why", "package/plots.py:4").out
    assert "not reported" in told
    assert "callers plot, package/use.py:3: called here" in told


def test_a_script_is_settled_by_scripts(package: Package) -> None:
    package.write("tools/plots.py", PLOT)
    package.write("tools/run.py", "import torch\nfrom plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("tools/plots.py") == []


def test_what_no_caller_gives_is_not_settled_by_its_default(package: Package) -> None:
    text = "import torch\n\ndef plot(x, y=None):\n    if y is not None:\n        y.numpy()\n"
    package.write("package/plots.py", text)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == [5]


def test_a_method_whose_name_one_class_has(package: Package) -> None:
    package.write("package/metric.py", METRIC)
    assert package.rows("package/metric.py") == [11]
    package.write("package/run.py", UNDER_NO_GRAD)
    assert package.rows("package/metric.py") == []
    package.write("package/train.py", "def train(model, batch, metric):\n    metric.absorb(model(batch))\n")
    assert package.rows("package/metric.py") == [11]


def test_a_method_of_a_class_that_extends_another(package: Package) -> None:
    package.write("package/base.py", "class Base:\n    def absorb(self, outputs):\n        raise NotImplementedError\n")
    package.write("package/metric.py", "from .base import Base\n" + METRIC.replace("Metric:", "Metric(Base):"))
    package.write("package/run.py", UNDER_NO_GRAD)
    assert package.rows("package/metric.py") == []


@pytest.mark.parametrize("name", ["update", "add", "step"])
def test_a_method_whose_name_is_common_is_not_followed(package: Package, name: str) -> None:
    package.write("package/metric.py", METRIC.replace("absorb", name))
    package.write("package/run.py", UNDER_NO_GRAD.replace("absorb", name))
    assert package.rows("package/metric.py") == [11]


def test_a_method_that_two_classes_define_is_not_followed(package: Package) -> None:
    package.write("package/metric.py", METRIC)
    package.write("package/run.py", UNDER_NO_GRAD)
    package.write("package/sponge.py", "class Sponge:\n    def absorb(self, water):\n        return water\n")
    assert package.rows("package/metric.py") == [11]


def test_the_class_of_the_receiver_is_known(package: Package) -> None:
    package.write("package/metric.py", METRIC.replace("absorb", "update"))
    caller = UNDER_NO_GRAD.replace("absorb", "update").replace("metric)", "metric: Metric)")
    package.write("package/run.py", f"from .metric import Metric\n{caller}")
    assert package.rows("package/metric.py") == []


def test_without_a_repository_nothing_is_settled(package: Package) -> None:
    package.write("package/plots.py", PLOT)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    (package.top / "pyproject.toml").unlink()
    (package.top / ".git").rmdir()
    assert package.rows("package/plots.py") == [4]


class TestTop:
    def test_version_control_goes_before_projects(self, tmp_path: Path) -> None:
        inner = tmp_path / "vendored" / "src"
        inner.mkdir(parents=True)
        (tmp_path / "pyproject.toml").touch()
        assert top_of_repository(str(inner)) == str(tmp_path)
        (tmp_path / "vendored" / ".git").touch()
        assert top_of_repository(str(inner)) == str(tmp_path / "vendored")

    def test_the_working_folder_where_nothing_says_more(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "code").mkdir()
        assert top_of_repository(str(tmp_path / "code")) is None
        monkeypatch.chdir(tmp_path)
        assert top_of_repository(str(tmp_path / "code")) == str(tmp_path)
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "setup.py").touch()
        assert top_of_repository(str(tmp_path / "code")) is None  # several projects lie in it


def test_a_repository_is_read_without_links_and_environments(tmp_path: Path) -> None:
    for path in ("a.py", "venv/b.py", "mine/pyvenv.cfg", "mine/c.py", "sub/.git/config", "sub/d.py", "deep/e.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("word = 1\n")
    (tmp_path / "round").symlink_to(tmp_path, target_is_directory=True)
    repository = Searched(str(tmp_path), {}, Reads(), None)
    assert repository.naming("word", r"\b%s\b") == [str(tmp_path / "a.py"), str(tmp_path / "deep" / "e.py")]
    assert repository.naming("wor", r"\b%s\b") == []


def test_an_index_of_words_finds_what_a_scan_finds(tmp_path: Path) -> None:
    texts = {
        "a.py": "word = word_2 = 1\n",
        "b.py": "swords = 'a.word(b)'\n",
        "c.py": "# schön_word, wörd\n",
        "d.py": "x = wörd.word1\n",
    }
    for path, text in texts.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    repository = Searched(str(tmp_path), {}, Reads(), None)
    names = ["word", "word_2", "word1", "swords", "n_word", "wörd", "rd", "a", "none"]

    def found() -> list[list[str]]:
        return [repository.naming(name, pattern) for name in names for pattern in (r"\b%s\b", r"%s(?<!\w%s)\b")]

    scanned = found()
    assert scanned[0] == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
    for number in range(MAX_SCANS):
        repository.naming(f"word{number}", r"\b%s\b")
    repository._found.clear()
    assert found() == scanned
    (tmp_path / "a.py").write_text("none = 1\n")
    repository.invalidate(str(tmp_path / "a.py"))
    assert repository.naming("none", r"\b%s\b") == [str(tmp_path / "a.py")]


SCRIPT = """\
import torch

def shown(x):
    return x.numpy()

def main():
    print(shown(torch.zeros(3, device="cpu")))

if __name__ == "__main__":
    main()
"""
NET = "import torch\nnet = torch.nn.Linear(3, 3)\n"


@pytest.mark.parametrize(
    ("path", "caller", "rows"),
    [
        ("tools/other.py", NET + "from tools.show import shown\n\ndef f(x):\n    return shown(net(x))\n", [4]),
        ("tools/other.py", NET + "import show\n\ndef f(x):\n    return show.shown(net(x))\n", [4]),
        ("tools/other.py", "from .show import shown\n\ndef f(x):\n    return shown(x.detach().cpu())\n", []),
        ("tools/other.py", "from show import main\n\ndef f():\n    main()\n", []),
        ("tools/other.py", "import show\n\ndef shown(net, x):\n    return net(x)\n", []),
        ("tests/test_show.py", "from tools.show import shown\n\ndef test_f(net, x):\n    shown(net(x))\n", []),
    ],
)
def test_others_may_call_the_functions_of_a_script(package: Package, path: str, caller: str, rows: list[int]) -> None:
    package.write("tools/show.py", SCRIPT)
    assert package.rows("tools/show.py") == []
    package.write(path, caller)
    assert package.rows("tools/show.py") == rows


CHILD = """\
import torch
from package.base import Base

class Child(Base):
    def _decode(self, logits):
        return logits.cpu().numpy()
"""
BASE = """\
import torch

class Base:
    def run(self, net, x):
        with torch.{}():
            return self._decode(net(x))
"""


@pytest.mark.parametrize(("mode", "rows"), [("no_grad", []), ("enable_grad", [6])])
def test_a_base_may_call_what_a_class_defines_for_it(package: Package, mode: str, rows: list[int]) -> None:
    package.write("package/child.py", CHILD)
    assert package.rows("package/child.py") == [6]
    package.write("package/base.py", BASE.format(mode))
    assert package.rows("package/child.py") == rows


def test_a_long_file_of_data_is_searched_for_no_word(tmp_path: Path) -> None:
    """Beside 12 MB of numbers each of 1,200 functions took 10 ms."""
    texts = {
        "calls.py": b"from mine import f",
        "data.py": b"NAMES = [" + b"'f', 1, " * LONG_TEXT + b"]",
        "long.py": b"from mine import f\nX = [" + b"1, " * LONG_TEXT + b"]",
        "mine.py": b"def f(): pass",
    }
    for path, text in texts.items():
        (tmp_path / path).write_bytes(text)
    read = read_texts(str(tmp_path), {})
    assert read is not None
    assert [os.path.basename(path) for path in read] == ["calls.py", "long.py", "mine.py"]
    index = WordIndex()
    for _ in range(MAX_SCANS):
        assert dict(index.holding("f", read)) == read
    assert {path for path, _ in index.holding("f", read)} == set(read)
    assert [path for path, _ in index.holding("absent", read)] == []
