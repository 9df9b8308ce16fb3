"""What other files of a repository show of a function: its callers, all of them, and what they give it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.reads import Reads
from tonumpy.engine.names.repository import LONG_TEXT, Searched, read_texts, top_of_repository
from tonumpy.pipeline import check
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path


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
    "path", ["tests/test_plots.py", "examples/plots.py", "docs/plots.py", "package/tests/use.py", "tests/run.py"]
)
def test_tests_and_examples_alone_show_nothing(package: Package, path: str) -> None:
    package.write("package/plots.py", PLOT)
    package.write(path, "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == [4]


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


def test_what_no_caller_gives_is_not_settled_by_its_default(package: Package) -> None:
    text = "import torch\n\ndef plot(x, y=None):\n    if y is not None:\n        y.numpy()\n"
    package.write("package/plots.py", text)
    package.write("package/use.py", "import torch\nfrom .plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == [5]


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
    repository = Searched(str(tmp_path), Reads())
    assert repository.naming("word", r"\b%s\b") == [str(tmp_path / "a.py"), str(tmp_path / "deep" / "e.py")]
    assert repository.naming("wor", r"\b%s\b") == []


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
    read = read_texts(str(tmp_path))
    assert read is not None
    kept = {"data.py": b"", "long.py": b"from mine import f"}
    assert {os.path.basename(path): text for path, text in read.items()} == texts | kept


METRICS = "def accuracy(logits, target):\n    return (logits.argmax(1).numpy() == target.numpy()).mean()\n"
TRAINING = """import torch
from torch import nn

from package.metrics import accuracy

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 3).to(device)
y = torch.randint(0, 3, (4,), device=device)
print(accuracy(model(torch.randn(4, 8, device=device)), y))
"""


def test_a_caller_in_another_file_that_brings_a_device_raises_a_finding(package: Package) -> None:
    """Also where the module itself does not import torch."""
    package.write("package/metrics.py", METRICS)
    assert package.rows("package/metrics.py") == []
    package.write("package/train.py", TRAINING)
    assert package.rows("package/metrics.py", Settings(confidence="high")) == [2, 2]


def test_a_caller_in_another_file_silences_nothing(package: Package) -> None:
    package.write("package/plots.py", PLOT)
    package.write("run.py", "import torch\nfrom package.plots import plot\nplot(torch.ones(3))\n")
    assert package.rows("package/plots.py") == [4]
