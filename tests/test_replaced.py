"""What a later assignment under no_grad may have replaced: that it was made of parameters speaks for nothing then."""

from __future__ import annotations

import pytest

from tonumpy import check_source

_HEAD = """\
import torch
import matplotlib.pyplot as plt

model = torch.nn.Linear(3, 3)
train, test = torch.randn(4, 3), torch.randn(2, 3)
for epoch in range(10):
    for x in train:
        out = model(x)
        out.sum().backward()
"""

_IN_VALIDATION = """\
    if epoch % 2 == 0:
        model.eval()
        with torch.no_grad():
            for x in test:
                out = model(x)
"""
_AT_THE_END = "with torch.no_grad():\n    for x in test:\n        out = model(x)\n"
_IN_ONE_BRANCH = """\
with torch.no_grad():
    if test:
        out = model(test[0])
"""
_IN_BOTH = """\
if test:
    with torch.no_grad():
        out = model(test[0])
else:
    out = model(train[0])
"""
_READ_FIRST = """\
for x in test:
    plt.plot(out.cpu()[0]), out.cpu().numpy()
    with torch.no_grad():
        out = model(x)
"""
_USES = "plt.plot(out.cpu()[0]), out.cpu().numpy()\n"


@pytest.mark.parametrize("between", [_IN_VALIDATION, _AT_THE_END, _IN_ONE_BRANCH, _IN_VALIDATION + _IN_ONE_BRANCH])
def test_what_may_have_been_replaced_under_no_grad_is_not_high(between: str) -> None:
    found = check_source(_HEAD + between + _USES)
    assert [(each.code, each.confidence) for each in found] in ([], [("TNP102", "medium")])


@pytest.mark.parametrize("rest", [_USES, _IN_BOTH + _USES, _READ_FIRST, _AT_THE_END + "out = model(test[0])\n" + _USES])
def test_what_is_made_of_parameters_on_one_path_is_high(rest: str) -> None:
    found = check_source(_HEAD + rest)
    assert [(each.code, each.confidence) for each in found] == [("TNP104", "high"), ("TNP102", "high")]
