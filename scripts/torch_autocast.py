"""Writes into knowledge/torch_autocast.json which operations of torch are given another dtype by `torch.autocast`.

    python scripts/torch_autocast.py [cpu | cuda] [FILE]

The dtype is bfloat16, and the device that of this machine: the entry of the other device stays as it is. Operators and
layers are called with the samples of PyTorch's operator database; it takes a minute, and is deterministic.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch_calls import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGET = Path(__file__).parent.parent / "src/tonumpy/inference/knowledge/torch_autocast.json"

_SAMPLES = 12  # of an operator: the operator decides, and hardly ever its arguments

Call = "Callable[[torch.dtype], object]"


def measure(device: str) -> dict[str, Any]:
    """`narrowed`: what is bfloat16 of float32, always; `changed`: other that has another dtype, at least once.

    By the last names of operators and of the layers of torch.nn.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        effects: defaultdict[str, set[str]] = defaultdict(set)
        for names, call in _calls(device):
            seen = set(_effects(device, call))
            for name in names:
                effects[name].update(seen)
    narrowed = sorted(name for name, seen in effects.items() if seen == {"narrowed"})
    changed = sorted(name for name, seen in effects.items() if seen - {"kept"} and name not in narrowed)
    return {"torch": torch.__version__.partition("+")[0], "narrowed": narrowed, "changed": changed}


def _calls(device: str) -> Iterator[tuple[tuple[str, ...], Call]]:
    """Each is given the dtype of its operands. Operators of one last name, `mm` and `sparse.mm`, are one."""
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for entry in op_db:
        if not entry.supports_dtype(torch.float32, device):
            continue
        names = tuple(each.name.rpartition(".")[2] for each in (entry, *entry.aliases))
        seed()
        for sample in itertools.islice(entry.sample_inputs(device, torch.float32), _SAMPLES):  # type: ignore[no-untyped-call]
            given = ((sample.input, *sample.args), sample.kwargs)
            if all(leaf.layout is torch.strided for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)):
                yield names, lambda dtype, op=entry.op, given=given: _called(op, _cast(given, dtype))
    for entry in module_db:
        seed()
        for sample in entry.module_inputs_func(
            entry, device=device, dtype=torch.float32, requires_grad=False, training=True
        ):
            if sample.forward_input is not None:
                made = sample.constructor_input
                module = entry.module_cls(*made.args, **made.kwargs).to(device)
                given = (sample.forward_input.args, sample.forward_input.kwargs)
                name = (entry.module_cls.__name__,)
                yield name, lambda dtype, module=module, given=given: _called(module, _cast(given, dtype))


def _called(function: Callable[..., object], given: tuple[tuple[object, ...], dict[str, object]]) -> object:
    return function(*given[0], **given[1])


def _cast(values: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401
    return tree_map(lambda leaf: leaf.detach().to(dtype) if _is_floating(leaf) else leaf, values)


def _effects(device: str, call: Call) -> Iterator[str]:
    """What autocast does to the results of operands of float32, and of bfloat16."""
    for dtype in (torch.float32, torch.bfloat16):
        within = _dtypes(call, dtype, device)
        without = _dtypes(call, dtype) or {dtype}  # it has no such kernel
        if not within or (without == within == {torch.bfloat16}):
            continue
        if without == within:
            yield "kept"
        else:
            yield "narrowed" if (without, within) == ({torch.float32}, {torch.bfloat16}) else "other"


def _dtypes(call: Call, dtype: torch.dtype, autocast: str = "") -> set[torch.dtype]:
    try:
        with torch.autocast(autocast, dtype=torch.bfloat16) if autocast else nullcontext():
            return {leaf.dtype for leaf in tree_leaves(call(dtype)) if _is_floating(leaf)}
    except (RuntimeError, NotImplementedError, ValueError, TypeError, AssertionError, IndexError):
        return set()


def _is_floating(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", nargs="?", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("target", nargs="?", type=Path, default=TARGET)
    arguments = parser.parse_args()
    facts = json.loads(arguments.target.read_text()) if arguments.target.exists() else {}
    facts[arguments.device] = measure(arguments.device)
    arguments.target.write_text(json.dumps(dict(sorted(facts.items())), indent=1) + "\n")
    print(f"{arguments.target}: {len(facts[arguments.device]['changed'])} operations on {arguments.device} change")


if __name__ == "__main__":
    main()
