"""Sinks and conversions in a file that may not name torch, of what other files hand to its functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tonumpy.config import Settings, may_have_findings
from tonumpy.inference.index.project import Project
from tonumpy.pipeline import check
from tonumpy.text.source import Source
from tonumpy.why import explain

if TYPE_CHECKING:
    from pathlib import Path

SCORES = """
from sklearn.metrics import average_precision_score, roc_curve

def evaluate(labels, scores, metric="roc"):
    if metric == "roc":
        return curve(labels, scores)
    return average_precision_score(labels, scores)

def curve(labels, scores):
    return roc_curve(labels, scores)

def alone(scores):
    return roc_curve(scores, scores)
"""

CALLER = """
import torch
from scores import evaluate

class Detector:
    def __init__(self, device):
        self.device = torch.device(device)

    def test(self, count):
        self.labels = torch.zeros(count, device=self.device)
        self.scores = torch.zeros(count, device=self.device)
        return evaluate(self.labels, self.scores)
"""

DATASET = """
from sklearn.preprocessing import StandardScaler

class Hours:
    def __init__(self):
        self.scaler = StandardScaler()

    def inverse_transform(self, data):
        return self.scaler.inverse_transform(data)
"""

TRAINING = """
import torch
from torch import nn
from hours import Hours

class Experiment:
    def __init__(self):
        self.device = torch.device("cuda")
        self.model = nn.Linear(8, 4).to(self.device)

    def _data(self):
        hours = Hours()
        return hours, [torch.zeros(2, 8)]

    def train(self):
        hours, loader = self._data()
        for batch in loader:
            outputs = self.model(batch.to(self.device))
            hours.inverse_transform(outputs)
"""


def rows(top: Path, files: dict[str, str], name: str) -> list[int]:
    """The rows of one of some files that are reported, when it is checked alone."""
    (top / "pyproject.toml").touch()
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    source = Source((top / name).read_bytes(), str(top / name))
    return [each.start.row for each in check(source, Settings(), Project())]


def test_a_function_that_another_file_calls(tmp_path: Path) -> None:
    assert rows(tmp_path, {"scores.py": SCORES, "detector.py": CALLER}, "scores.py") == [7, 10]


def test_a_method_of_an_object_that_another_file_makes(tmp_path: Path) -> None:
    assert rows(tmp_path, {"hours.py": DATASET, "training.py": TRAINING}, "hours.py") == [9]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("evaluate(self.labels, self.scores)", "evaluate(self.labels.cpu(), self.scores.cpu())"),
        ("device=self.device", "device='cpu'"),
        ("from scores import", "from others import"),
    ],
)
def test_callers_that_give_no_risk_show_nothing(tmp_path: Path, was: str, now: str) -> None:
    files = {"scores.py": SCORES, "detector.py": CALLER.replace(was, now)}
    files["others.py"] = "def evaluate(labels, scores):\n    return labels\n"
    assert rows(tmp_path, files, "scores.py") == []


def test_tests_show_nothing(tmp_path: Path) -> None:
    assert rows(tmp_path, {"scores.py": SCORES, "tests/test_scores.py": CALLER}, "scores.py") == []


def test_a_method_of_another_class_is_not_meant(tmp_path: Path) -> None:
    other = "class Days:\n    def inverse_transform(self, data):\n        return data\n"
    training = TRAINING.replace("from hours import Hours", "from days import Days as Hours")
    assert rows(tmp_path, {"hours.py": DATASET, "days.py": other, "training.py": training}, "hours.py") == []


def test_a_file_that_names_no_torch_and_cannot_be_parsed_is_left_to_others(tmp_path: Path) -> None:
    broken = "import numpy as np\n\ndef f(x):\n    print np.exp(x)\n"
    assert rows(tmp_path, {"broken.py": broken, "detector.py": CALLER}, "broken.py") == []


def test_the_reason_is_told(tmp_path: Path) -> None:
    rows(tmp_path, {"scores.py": SCORES, "detector.py": CALLER}, "scores.py")
    source = Source((tmp_path / "scores.py").read_bytes(), str(tmp_path / "scores.py"))
    labels, scores = explain(source, Settings(), Project(), 10)
    assert [each.code for each in labels.findings] == ["TNP104"]
    devices = [answer.text for each in (labels, scores) for answer in each.answers if answer.about == "device"]
    assert devices == ["chosen at run time, may be a GPU"] * 2


def test_such_a_file_is_looked_at() -> None:
    assert may_have_findings(SCORES.encode(), Settings)
    assert not may_have_findings(b"import numpy as np\nprint(np.zeros(3))\n", Settings)


PICTURES = """
import numpy as np

def save(images, path):
    np.save(path, images.squeeze().numpy())

def show(images):
    return images.cpu().numpy()

def alone(images):
    return images.numpy()
"""

DRAWING = """
import torch
from torch import nn
from pictures import save, show

def draw(path):
    model = nn.Linear(8, 4)
    images = model(torch.zeros(2, 8))
    save(images, path)
    show(images)
"""


def test_a_conversion_of_what_another_file_gives(tmp_path: Path) -> None:
    assert rows(tmp_path, {"pictures.py": PICTURES, "drawing.py": DRAWING}, "pictures.py") == [5, 8]


@pytest.mark.parametrize(
    "given", ["torch.zeros(3, device='cuda')", "torch.zeros(3, requires_grad=True)", "batch.unsqueeze(0).cuda()"]
)
def test_a_conversion_of_a_tensor_made_in_the_call(tmp_path: Path, given: str) -> None:
    drawing = f"import torch\nfrom pictures import alone\n\ndef draw(batch):\n    return alone({given})\n"
    assert rows(tmp_path, {"pictures.py": PICTURES, "drawing.py": drawing}, "pictures.py") == [11]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("images = model(torch.zeros(2, 8))", "images = model(torch.zeros(2, 8)).detach()"),
        ("images = model(torch.zeros(2, 8))", "images = torch.zeros(2, 8)"),
        ("images = model(torch.zeros(2, 8))", "images = unknown(2, 8)"),
        ("import torch\n", "import torch\nimport numpy as np\n"),
        ("import torch\nfrom torch import nn\n", "import tensorflow as tf\n"),
        ("from torch import nn\n", "import tensorflow as tf\n"),
        ("from pictures import", "from others import"),
    ],
)
def test_what_raises_nowhere_is_not_converted(tmp_path: Path, was: str, now: str) -> None:
    text = DRAWING.replace(was, now)
    if "np" in now:
        text = text.replace("model(torch.zeros(2, 8))", "np.zeros((2, 8))")
    if "tf" in now:
        text = text.replace("nn.Linear(8, 4)", "tf.keras.layers.Dense(4)").replace("torch.zeros(", "tf.zeros(")
    files = {"pictures.py": PICTURES, "drawing.py": text, "others.py": "import torch\n"}
    assert rows(tmp_path, files, "pictures.py") == []


def test_no_conversion_is_shown_by_tests(tmp_path: Path) -> None:
    assert rows(tmp_path, {"pictures.py": PICTURES, "tests/test_pictures.py": DRAWING}, "pictures.py") == []


NODES = """
from sampler import Sampler

class Combine:
    def combine(self, audio):
        return audio["waveform"].squeeze(0).numpy()

class Preview:
    def preview(self, audio):
        return audio["waveform"].mean(dim=1)[0].cpu().numpy()

def run(steps):
    audio = Sampler().sample(steps)
    return Preview().preview(audio), Combine().combine(audio)

if __name__ == "__main__":
    run(2)
"""

SAMPLER = """
import torch

class Sampler:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def sample(self, steps):
        with torch.no_grad():
            waveform = torch.zeros(steps, 2, device=self.device)
        return {"waveform": waveform}
"""


def test_a_caller_in_the_same_file_that_has_it_from_another(tmp_path: Path) -> None:
    assert rows(tmp_path, {"nodes.py": NODES, "sampler.py": SAMPLER}, "nodes.py") == [6]
    numpy = SAMPLER.replace("import torch", "import numpy as np, torch").replace(
        "torch.zeros(steps, 2, device=self.device)", "np.zeros((steps, 2))"
    )
    assert rows(tmp_path, {"nodes.py": NODES, "sampler.py": numpy}, "nodes.py") == []


def test_why_agrees_with_the_check_of_a_conversion(tmp_path: Path) -> None:
    files = {"pictures.py": PICTURES, "drawing.py": DRAWING, "nodes.py": NODES, "sampler.py": SAMPLER}
    for name, row in (("pictures.py", 5), ("nodes.py", 6)):
        rows(tmp_path, files, name)
        source = Source((tmp_path / name).read_bytes(), str(tmp_path / name))
        (told,) = (each for each in explain(source, Settings(), Project(), row) if each.answers[0].about == "kind")
        assert [each.code for each in told.findings] == ["TNP101"]
        assert "torch tensor" in told.answers[0].text
