"""Runs the executable fixtures on the stand-in: python standin_matrix.py. Prints what is not as foretold."""

from __future__ import annotations

import warnings

import torch
from runtime_fixtures import find_fixtures
from runtime_matrix import run_matrix

from tonumpy import fix_source
from tonumpy.rehearsal.standin import pretend


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    cells = healed = 0
    with pretend("cuda", lambda event, tensor: None, stop=True):  # noqa: ARG005
        for fixture in find_fixtures():
            for cell in run_matrix(fixture, "cuda", fix_source(fixture.text, unsafe=True)):
                cells, healed = cells + 1, healed + cell.healed
                if cell.problem:
                    print(cell)
    print(cells, healed)


if __name__ == "__main__":
    main()
