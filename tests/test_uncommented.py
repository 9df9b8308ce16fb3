"""What a comment or a docstring says is no evidence: findings are the same without them."""

from __future__ import annotations

import pytest

from tonumpy import check_source
from tonumpy.text.uncommented import uncommented

PROGRAM = """\
import torch
from torch import nn


def main():
    print(nn.Module().total.detach().numpy())


if __name__ == "__main__":
    main()
"""
TEST = """\
import torch
import other


def f(x):
    return x.detach().numpy()


def test_f():
    other.go(f)
"""
MODULE = """\
import torch


def f(x: torch.Tensor):
    return x.numpy()
"""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('x = "#"  # cuda\n', 'x = "#"  \n'),
        ("x = '\\'#'  # cuda\n", "x = '\\'#'  \n"),
        ('def f():\n    """On "cuda"."""\n', 'def f():\n    ""\n'),
        ("def f():\n    r'''a # b\n    \"\"\"\n    '''\n", 'def f():\n    ""\n'),
        ('x = """cuda"""\n', 'x = """cuda"""\n'),
        ('f("""a""", """#""")  # b\n', 'f("""a""", """#""")  \n'),
        ('"""a \\""" # b"""\nx = 1\n', '""\nx = 1\n'),
        ("# \"\"\"\nx = 1  # '''\ny = 2\n", "\nx = 1  \ny = 2\n"),
        ("", ""),
    ],
)
def test_the_code_of_a_text(text: str, code: str) -> None:
    assert uncommented(text) == code


@pytest.mark.parametrize("code", [PROGRAM, TEST, MODULE], ids=["a program", "a test", "a module"])
@pytest.mark.parametrize(
    "words", ["cuda", "requires_grad", "with torch.no_grad():", "import tensorflow as tf", "Variable(", "create_graph"]
)
def test_words_that_are_no_code_change_nothing(code: str, words: str) -> None:
    name = "test_m.py" if "def test_" in code else "m.py"
    findings = [
        (finding.code, finding.message, finding.confidence) for finding in check_source(code, name, confidence="low")
    ]
    for said in (f'"""{words}\n{words}\n"""\n{code}', f"{code}# {words}\n"):
        again = check_source(said, name, confidence="low")
        assert [(finding.code, finding.message, finding.confidence) for finding in again] == findings
