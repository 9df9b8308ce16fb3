"""What hardware refuses beside conversions: the stand-in refuses it in torch's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from standin_runs import run

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
        print(*(each.device for each in pad_packed_sequence(output, batch_first=True)))
"""
PACKED_SAY = """\
'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor
'lengths' argument should be a 1D CPU int64 tensor, but got 2D cuda:0 Long tensor
cuda:0 cpu
cuda:0 cpu
cuda:0 cpu
"""


REFUSED = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler, TensorDataset, random_split

    def said(words):
        for word in words:
            try:
                result = eval(word, globals())
                print(tuple(result.shape) if isinstance(result, torch.Tensor) else result)
            except Exception as error:
                print(type(error).__name__, str(error).splitlines()[0])

    def within(number):
        with torch.cuda.device(number):
            return torch.ones(2, device="cuda").device

    def batches(**options):
        return len(list(DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, **options)))

    x, there, host, own = torch.ones(2), torch.ones(3, device="cuda"), torch.Generator(), torch.Generator("cuda")
    whole = torch.ones(2, 2, dtype=torch.long, device="cuda")
    print(torch.device("cuda:7"), within(0), x.to("cuda:0").device)
    said(["x.to('cuda:7')", "x.cuda(1)", "torch.zeros(2, device=1)", "torch.cuda.set_device(3)", "within(2)",
          "nn.Linear(2, 2).to('cuda:1')", "torch.cuda.get_device_properties(4)"])
    said(["torch.randn(2, device='cuda', generator=host)", "torch.randperm(3, device='cuda', generator=host)",
          "there.normal_(generator=host)", "torch.multinomial(there, 2, generator=host)",
          "torch.rand(2, device=0, generator=host)", "torch.randint(3, (2,), device='cuda', generator=host)",
          "torch.bernoulli(there, generator=host)", "there.exponential_(generator=host)",
          "nn.init.normal_(there, generator=host)", "torch.normal(there, 1.0, generator=torch.default_generator)",
          "torch.randn(2, generator=own)"])
    said(["torch.rand(2, device='cuda', generator=torch.cuda.default_generators[0])",
          "torch.randn(2, device='cuda', generator=own)", "there.uniform_(generator=own)",
          "torch.normal(there, 1.0, generator=own)", "torch.randn(2, generator=host)"])
    said(["whole @ whole", "whole[None] @ whole[None]", "whole @ whole[0]", "whole[0].bool() @ whole[0].bool()",
          "torch.einsum('ij,jk->ik', whole, whole)", "torch.matmul(whole, whole[0])", "whole.int().mm(whole.int())",
          "torch.addmm(whole, whole, whole)", "nn.functional.linear(whole, whole)", "whole[0].dot(whole[0])",
          "whole.float() @ whole.float()", "whole.cpu() @ whole.cpu()", "(whole[:, None] * whole).sum(2)"])
    torch.set_default_device("cuda")
    said(["batches(shuffle=True)", "batches(shuffle=True, generator=host)", "batches(sampler=RandomSampler(range(4)))",
          "random_split(range(4), [2, 2])", "random_split(range(4), [2, 2], generator=host)",
          "batches(sampler=SubsetRandomSampler(range(4), generator=host))",
          "batches(shuffle=True, generator=torch.Generator('cuda'))", "batches()",
          "len(random_split(range(4), [2, 2], own))"])
    torch.set_default_device(None)
    said(["batches(shuffle=True)", "len(random_split(range(4), [2, 2]))"])
"""
_HOST = "RuntimeError Expected a 'cuda' device type for generator but found 'cpu'\n"
KIND = getattr(torch, "AcceleratorError", RuntimeError).__name__  # the former since torch 2.8
_BEYOND = f"{KIND} CUDA error: invalid device ordinal\n"
REFUSED_SAY = f"""\
cuda:7 cuda:0 cuda:0
{_BEYOND * 6}AssertionError Invalid device id
{_HOST * 10}RuntimeError Expected a 'cpu' device type for generator but found 'cuda'
(2,)
(2,)
(3,)
(3,)
(2,)
NotImplementedError "matmul" not implemented for 'Long'
NotImplementedError "matmul" not implemented for 'Long'
NotImplementedError "matmul" not implemented for 'Long'
NotImplementedError "matmul" not implemented for 'Bool'
NotImplementedError "einsum" not implemented for 'Long'
NotImplementedError "matmul" not implemented for 'Long'
NotImplementedError "mm" not implemented for 'Int'
NotImplementedError "addmm" not implemented for 'Long'
NotImplementedError "linear" not implemented for 'Long'
NotImplementedError "dot" not implemented for 'Long'
(2, 2)
(2, 2)
(2, 2)
{_HOST * 6}2
2
2
2
2
"""
MPS = """
    import numpy as np
    import torch
    from torch import nn

    array = np.ones(2)
    for word in ("torch.from_numpy(array).to('mps')", "torch.tensor(array, device='mps')",
                 "nn.Linear(2, 2).double().to('mps')",
                 "torch.ones(2, device='mps').double()", "torch.zeros(2, dtype=torch.float64, device='mps')"):
        try:
            print(eval(word))
        except TypeError as error:
            print(error)
    for word in ("torch.from_numpy(array).float().to('mps')", "torch.from_numpy(array).to('mps', dtype=torch.float32)",
                 "torch.ones(2, device='mps') * np.float64(2)", "torch.ones(2, device='mps').cpu().double()"):
        print(eval(word).dtype)
"""
NO_DOUBLE = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
    " Please use float32 instead.\n"
)


def test_numbers_of_devices_generators_and_whole_numbers_are_refused(tmp_path: Path) -> None:
    done = run(REFUSED, tmp_path)
    assert (done.code, done.output) == (0, REFUSED_SAY), done.errors


@pytest.mark.slow
def test_mps_has_no_doubles(tmp_path: Path) -> None:
    done = run(MPS, tmp_path, device="mps")
    expected = NO_DOUBLE * 5 + "torch.float32\n" * 3 + "torch.float64\n"
    assert (done.code, done.output) == (0, expected), done.errors


@pytest.mark.slow
def test_lengths_of_sequences_are_wanted_on_the_cpu(tmp_path: Path) -> None:
    done = run(PACKED, tmp_path)
    assert (done.code, done.output) == (0, PACKED_SAY), done.errors
