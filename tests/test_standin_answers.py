"""What the module of the device answers: memory, properties, operators that a program registers for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = """
    import re
    from pathlib import Path
    import torch

    one = torch.zeros(1000, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    print(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved(0))
    print(torch.cuda.mem_get_info()[1] > 2**30, torch.cuda.memory_stats()["allocated_bytes.all.current"])

    stub = (Path(torch.__file__).parent / "_C" / "__init__.pyi").read_text()
    stub = stub.partition("class _CudaDeviceProperties:")[2].partition("\\n\\n")[0]
    fields = re.findall(r"^    (\\w+): ", stub, re.M)
    print(len(fields) > 10, [each for each in fields if not hasattr(torch.cuda.get_device_properties(0), each)])

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        print(torch.cuda.current_stream() is stream, end=" ")
    print(torch.cuda.current_stream() is torch.cuda.default_stream(), torch.cuda.Stream.priority_range())
    print(torch.get_device_module().__name__, torch.compiler.reset(), torch._dynamo.reset())

    @torch.library.custom_op("mine::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.library.custom_op("mine::other", mutates_args=(), device_types="cpu")
    def other_on(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @other_on.register_kernel("cuda")
    def _(x):
        return x + 2

    library = torch.library.Library("more", "DEF")
    library.define("thrice(Tensor x) -> Tensor")
    library.impl("thrice", lambda x: x * 3, "CUDA")
    x = torch.ones(1, device="cuda")
    print(twice(x), other_on(x).item(), other_on(x.cpu()).item(), torch.ops.more.thrice(x).item())
"""
ANSWERS_SAY = """\
0 0 0
True 0
True []
True True (0, -5)
torch.cuda None None
tensor([2.], device='cuda:0') 2.0 2.0 3.0
"""


@pytest.mark.slow
def test_the_module_of_the_device_answers(tmp_path: Path) -> None:
    done = run(ANSWERS, tmp_path)
    assert (done.code, done.output) == (0, ANSWERS_SAY), done.errors
