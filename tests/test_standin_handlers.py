"""What the user's own code makes good, or asks for, is raised as on real hardware; elsewhere the program goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import marks, run
from test_rehearse import rehearse

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
    import contextlib
    import unittest
    import numpy as np
    import pytest
    import torch

    t, w = torch.ones(2, device="cuda"), torch.ones(2, requires_grad=True)
    ERRORS = (TypeError, RuntimeError)
    ways = []

    def to_array(x):
        return x.numpy()

    def numpy_there():
        try:
            return t.numpy()
        except Exception:
            ways.append("numpy")
            return t.cpu().numpy()

    def asarray_there():
        try:
            return np.asarray(w)
        except ERRORS:
            ways.append("asarray")
            return np.asarray(w.tolist())

    def outside():
        try:
            return to_array(t)
        except TypeError:
            ways.append("outside")
            return to_array(t.cpu())

    def wrong_type():
        try:
            return w.numpy()  # refused: grad
        except TypeError:
            ways.append("never")
            return w.detach().numpy()

    def logged():
        for x in (t, t):
            try:
                ways.append(x.numpy().shape)  # refused: device
            except Exception as error:
                print("skipped", error)

    def again():
        try:
            w.numpy()  # refused: grad
        except RuntimeError as error:
            if "memory" in str(error):
                w.cpu()
            raise

    def nested():
        try:
            inner = lambda x: x.numpy()  # refused: device
        except TypeError:
            t.cpu()
        return inner(t)

    def two_devices():
        total = torch.zeros(2, device="cuda")
        try:
            total += torch.ones(2)
        except RuntimeError:
            ways.append("moved")
            total += torch.ones(2).to("cuda")
        print(total.tolist())

    def compared():
        try:
            return t == np.ones(2)
        except RuntimeError:
            ways.append("compared")
            return t.cpu().numpy() == np.ones(2)

    class Cases(unittest.TestCase):
        def test_all(self):
            with self.assertRaises(TypeError):
                t.numpy()
            self.assertRaises(TypeError, t.numpy)
            with self.assertRaisesRegex(RuntimeError, "requires grad"), contextlib.suppress(ValueError):
                w.numpy()
            with pytest.raises((TypeError, ValueError), match="can't convert cuda:0"):
                to_array(t)
            pytest.raises(RuntimeError, lambda: w.numpy())
            with self.assertRaisesRegex(expected_exception=TypeError, expected_regex="numpy"):
                for each in (t,):
                    each.numpy()
            self.assertRaises(unittest.TestCase.failureException, self.strict)

        def strict(self):
            for x in (t, w):
                try:
                    x.numpy()
                except (TypeError, RuntimeError):
                    continue
                self.fail("no error")
            self.fail("both")

    with contextlib.suppress(TypeError):
        t.numpy()
        ways.append("never")
    with contextlib.suppress(Exception):
        t.numpy()  # refused: device
        ways.append("general")
    for function in (numpy_there, asarray_there, outside, wrong_type, logged, again, nested, two_devices, compared):
        function()
    with open("out.txt", "w") as file:
        print(*ways, file=file)
    unittest.main(argv=["program"])
"""
WAYS = "general numpy asarray outside torch.Size([2]) torch.Size([2]) moved compared"


def test_what_the_program_handles_is_raised(tmp_path: Path) -> None:
    done = run(PROGRAM.replace("x.numpy().shape", "torch.Size(x.numpy().shape)"), tmp_path)
    assert "OK" in done.errors and done.code == 0, done.errors
    assert (tmp_path / "out.txt").read_text().strip() == WAYS
    assert done.output == "[1.0, 1.0]\n"
    unhandled = {told.row for told in done.told if told.reasons and not told.event["is_handled"]}
    assert unhandled == set(marks(PROGRAM))
    assert sum(bool(told.event["is_handled"]) for told in done.told) == 14


HANDLED = """
import numpy as np
import torch


def to_array(x):
    return x.numpy()


t = torch.ones(2, device="cuda")
try:
    to_array(t)
except TypeError:
    array = t.cpu().numpy()
try:
    np.asarray(t)
except TypeError:
    np.asarray(t.cpu())
print(array.sum())
"""


def test_what_is_handled_is_no_finding_and_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(HANDLED)
    done = rehearse(tmp_path, "--observations", "seen.json", "--", "learn.py")
    assert (done.code, done.findings) == (0, [])
    (file,) = json.loads((tmp_path / "seen.json").read_text())["files"].values()
    assert [entry["refused"] for entry in file] == [None, None]
