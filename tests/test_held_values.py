"""A value that holds another many times over is looked into once: else each of these takes for ever, or all memory."""

from __future__ import annotations

import time

import pytest

from tonumpy import check_source

SECONDS = 3.0  # of the processor
TIMES = 30  # each doubles what is held

OF_A_FUNCTION = {
    "a list that holds itself twice": "    y = [y, y]\n",
    "a dict that holds itself twice": '    y = {"a": y, "b": y}\n',
    "a list put into itself": "    y.append(y)\n    y.append(list(y))\n",
    "a module made of a module twice": "    y = torch.nn.Sequential(y, y)\n",
    "an object made of an object twice": "    y = Pair(y, y)\n",
    "what a function gives for what it gave": "    y = both(y)\n",
    "a loop": "    for i in x:\n        y = [y, y, i]\n",
    "a comprehension": "    y = [(y, y) for _ in y]\n",
    "a condition": "    y = [y, y] if x else (y, y)\n",
    "lists laid end to end": "    y = y + [y] + y\n",
}
HEAD = """\
import torch


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b


def both(a):
    return [a, a]


"""


def assert_quick(source: str) -> None:
    begun = time.process_time()
    findings = check_source(source)
    assert time.process_time() - begun < SECONDS
    assert "TNP101" in [finding.code for finding in findings]


@pytest.mark.parametrize("kind", OF_A_FUNCTION)
def test_in_a_function(kind: str) -> None:
    body = f"    y = [x]\n{OF_A_FUNCTION[kind] * TIMES}    return y[0].numpy(), x.numpy()\n"
    assert_quick(f"{HEAD}def f(x: torch.Tensor):\n{body}")


def test_calls_in_calls() -> None:
    calls = f"{'both(' * TIMES}x{')' * TIMES}"
    assert_quick(f"{HEAD}def f(x: torch.Tensor):\n    return {calls}[0].numpy(), x.numpy()\n")


def test_an_attribute() -> None:
    twice = "        self.y = [self.y, self.y]\n" * TIMES
    init = f"    def __init__(self, x: torch.Tensor):\n        self.y = [x]\n{twice}"
    assert_quick(
        f"{HEAD}class C:\n{init}\n    def g(self, x: torch.Tensor):\n        return self.y[0].numpy(), x.numpy()\n"
    )


@pytest.mark.parametrize("n", [5, 15, TIMES])
def test_a_dict_put_into_itself_under_a_key_that_is_not_known(n: int) -> None:
    entries = ", ".join(f'"k{i}": "v{i}"' for i in range(n))
    body = f'd = {{{entries}}}\nfor i in range(3):\n    d[f"{{i}}"] = d\n\n\n'
    asked = 'def f(x: torch.Tensor):\n    for key in x:\n        s.append({"n": d[key], "data": T(x.numpy())})\n'
    assert_quick(f"import torch\n\n{body}{asked}")
    assert_quick(f"import torch\n\n{body}for key in t:\n    s.append({{'n': d[key]}})\n\n\n{asked}")


def test_a_large_table_of_different_things_is_known() -> None:
    rows = "".join(f"    ({i}, [torch.zeros({i}), 'r{i}']),\n" for i in range(2000))
    source = f"import torch\n\nTABLE = [\n{rows}]\n\n\ndef f():\n    return TABLE[5][1][0].numpy()\n"
    assert check_source(source) == []
