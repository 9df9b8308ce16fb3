"""What hardware refuses beside conversions: the stand-in refuses it in torch's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

PACKED = """
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    x, lengths = torch.ones(2, 3, 4, device="cuda"), torch.tensor([3, 2])
    for given, wrong in ((x, lengths.cuda()), (x.cpu(), lengths.cuda()), (x, lengths.reshape(1, 2).cuda())):
        try:
            pack_padded_sequence(given, wrong, batch_first=True)
        except RuntimeError as error:
            print(error)
    for right in (lengths, [3, 2], lengths.cuda().cpu()):
        output, _ = nn.GRU(4, 2, batch_first=True).cuda()(pack_padded_sequence(x, right, batch_first=True))
        print(pad_packed_sequence(output, batch_first=True)[0].device)
"""
PACKED_SAY = """\
'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
'lengths' argument should be a 1D CPU int64 tensor, but got 2D cuda:0 Long tensor
cuda:0
cuda:0
cuda:0
"""


def test_lengths_of_sequences_are_wanted_on_the_cpu(tmp_path: Path) -> None:
    done = run(PACKED, tmp_path)
    assert (done.code, done.output) == (0, PACKED_SAY), done.errors
