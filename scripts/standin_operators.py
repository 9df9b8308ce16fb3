"""Holds every operator of torch's own database on the stand-in accelerator to what it gives on the CPU.

    python scripts/standin_operators.py [--dtypes all] [--every N] [--samples N]
    python scripts/standin_operators.py --page [--check] [--output FILE]

For each sample of each operator: the types, dtypes, shapes, devices and values of what it returns, what its in-place
variant and `out=` give, and the gradients. Needs numpy and expecttest besides torch. `--page` takes every sample of
every dtype, eight minutes of a CPU, and writes what differs into docs/rehearsal.md, or the same page into FILE;
with `--check` it writes nothing, and fails where that is another list.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import re
import sys
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import torch

from tonumpy.rehearsal.standin import pretend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KIND = "cuda"
PAGE = Path(__file__).parent.parent / "docs/rehearsal.md"
BEGIN, END = "<!-- table: operators -->", "<!-- end of operators -->"
# What is in the memory of a new tensor is nobody's promise.
_WITHOUT_VALUES = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)
# Over one dimension torch hands `conj_physical` its output for its input, so that `out` keeps what was in its memory.
_LEAVES_OUT_UNWRITTEN = frozenset({"fft.ihfftn", "fft.ihfft2"})
# The message in which real hardware refuses a sample of the database for the CPU.
_REFUSED_THERE = ("tensor_split expected tensor_indices_or_sections to be on cpu",)
_EACH = 50  # operators, after which progress is told
_MOST_NUMBERS = 1_000_000  # of a sample: a few of grid_sampler_3d have five times as many, and take minutes
_FEW = (torch.float32, torch.int64, torch.complex64, torch.bool)
_ALL = (*_FEW, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int32, torch.complex128)


class Failure(NamedTuple):
    operator: str
    dtype: str
    what: str


class Count(NamedTuple):
    operators: int
    samples: int
    failures: tuple[Failure, ...]

    @property
    def failed(self) -> dict[str, list[Failure]]:
        found: dict[str, list[Failure]] = collections.defaultdict(list)
        for failure in self.failures:
            found[failure.operator].append(failure)
        return dict(found)


def measure(dtypes: tuple[torch.dtype, ...] = _FEW, *, every: int = 1, samples: int = 1000) -> Count:
    """Every `every`th operator, the first so many samples of each."""
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    entries = op_db[::every]
    failures: dict[Failure, None] = {}
    count = 0
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(pretend(KIND, lambda event, tensor: None))  # noqa: ARG005
        stack.enter_context(_without_other_accelerators())
        warnings.simplefilter("ignore")
        for number, entry in enumerate(entries):
            if number % _EACH == 0:
                print(f"{number} of {len(entries)} operators, {count} samples", file=sys.stderr)
            name = f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name
            for dtype in dtypes:
                for sample in _samples(entry, dtype, samples):
                    count += 1
                    for what in _differences(entry, sample, dtype):
                        failures[Failure(name, str(dtype).removeprefix("torch."), what)] = None
    return Count(len(entries), count, tuple(failures))


def _samples(entry: Any, dtype: torch.dtype, number: int) -> Iterator[Any]:  # noqa: ANN401
    if not entry.supports_dtype(dtype, "cpu"):
        return
    grads = (
        entry.supports_autograd
        and entry.supports_dtype(dtype, "cpu")
        and dtype in entry.supported_backward_dtypes("cpu")
    )
    torch.manual_seed(0)
    try:
        found = entry.sample_inputs("cpu", dtype, requires_grad=grads)
        # The database asks whether there is a device, and has samples that name it, whatever they are made for.
        small = (each for each in found if _numbers(each.input) <= _MOST_NUMBERS)
        fitting = (each for each in small if not _names_device((each.args, each.kwargs)))
        yield from itertools.islice(fitting, number)
    except Exception as error:
        print(f"{entry.name} {dtype}: no samples: {error}", file=sys.stderr)


def _numbers(value: Any) -> int:  # noqa: ANN401
    return sum(each.numel() for each in _tensors(value) if each.layout is torch.strided)


def _names_device(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, dict):
        return any(map(_names_device, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_names_device, value))
    if isinstance(value, torch.Tensor):
        return value.device.type == KIND
    return isinstance(value, str | torch.device) and str(value).startswith(KIND)


def _has_place(value: Any) -> bool:  # noqa: ANN401
    """Whether it says on which device the result lies."""
    if isinstance(value, dict):
        return value.get("device") is not None or any(map(_has_place, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_has_place, value))
    return isinstance(value, torch.Tensor | torch.device)


def _differences(entry: Any, sample: Any, dtype: torch.dtype) -> Iterator[str]:  # noqa: ANN401
    is_on_hardware = entry.supports_dtype(dtype, KIND)
    arguments = (sample.input, *sample.args)
    operator = getattr(torch, entry.name, entry.op)  # the database has what stood there before the stand-in came
    variants: list[tuple[str, Callable[..., Any]]] = [("", operator)]
    if entry.inplace_variant is not None and not sample.broadcasts_input:
        variants.append(("in place: ", _in_place(entry.inplace_variant)))
    if entry.supports_out:
        variants.append(("out=: ", _out(operator)))
    for word, variant in variants:
        expected = _run(variant, arguments, sample.kwargs, _fresh)
        found = _run(variant, arguments, sample.kwargs, _moved)
        for what in _compared(expected, found):
            is_known = what.startswith("values differ") and entry.name in _WITHOUT_VALUES
            is_known |= word == "out=: " and what.startswith("values differ") and entry.name in _LEAVES_OUT_UNWRITTEN
            # CUDA multiplies no integers, by the database, too.
            is_known |= "not implemented for" in what and not is_on_hardware
            is_known |= what == "lies on cpu" and not _has_place((arguments, sample.kwargs))
            if not is_known and not any(each in what for each in _REFUSED_THERE):
                yield word + what


def _in_place(variant: Callable[..., Any]) -> Callable[..., Any]:
    def call(first: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        first = [each.clone() for each in first] if isinstance(first, list | tuple) else first.clone()
        variant(first, *args, **kwargs)
        return first

    return call


def _out(operator: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with torch.no_grad():
            made = operator(*args, **kwargs)
            if not isinstance(made, torch.Tensor):
                return made
            out = torch.empty(0, dtype=made.dtype, device=made.device)
            full = torch.empty_like(made)
            return operator(*args, **kwargs, out=out), out, operator(*args, **kwargs, out=full), full

    return call


@contextmanager
def _without_other_accelerators() -> Iterator[None]:
    """`torch.manual_seed` notes the stack of each call for them, should there be one later: a third of all time."""
    with ExitStack() as stack:
        for module in (torch.xpu, torch.mtia):
            stack.enter_context(mock.patch.object(module, "manual_seed_all", lambda seed: None))  # noqa: ARG005
        yield


class _Raised(NamedTuple):
    error: BaseException


def _run(operator: Callable[..., Any], args: Any, kwargs: Any, move: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """What it returns and the gradients of what it was given, or what it raised."""
    try:
        args, kwargs = move(args), move(kwargs)
        leaves = [each for each in _tensors((args, kwargs)) if each.requires_grad]
        torch.manual_seed(0)
        returned = operator(*args, **kwargs)
    except Exception as error:
        return _Raised(error)
    outputs = [each for each in _tensors(returned) if each.requires_grad]
    if not leaves or not outputs:
        return returned, []
    try:
        grads = torch.autograd.grad(outputs, leaves, [torch.ones_like(each) for each in outputs], allow_unused=True)
    except Exception as error:
        return returned, _Raised(error)
    return returned, list(grads)


def _compared(expected: Any, found: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(expected, _Raised) or isinstance(found, _Raised):
        if not isinstance(found, _Raised):
            yield f"gives what the CPU refuses: {_short(expected.error)}"
        elif not isinstance(expected, _Raised):
            yield f"raises {_short(found.error)}"
        elif type(expected.error) is not type(found.error):
            yield f"raises {_short(found.error)} instead of {_short(expected.error)}"
        return
    if isinstance(expected, torch.Tensor):
        yield from _compared_tensors(expected, found)
    elif isinstance(expected, list | tuple):
        if len(expected) != len(found):
            yield f"gives {len(found)} values instead of {len(expected)}"
        for one, other in zip(expected, found, strict=False):
            yield from _compared(one, other)
    elif isinstance(expected, dict):
        yield from _compared(list(expected.values()), list(found.values()))
    elif isinstance(expected, torch.device):
        return
    elif type(expected) is not type(found) or (expected != found and expected == expected):
        yield f"gives {found!r} instead of {expected!r}"


def _compared_tensors(expected: torch.Tensor, found: Any) -> Iterator[str]:  # noqa: ANN401
    if not isinstance(found, torch.Tensor) or (type(expected) is not type(found) and found.layout is torch.strided):
        yield f"gives a {type(found).__name__}"
        return
    for name in ("dtype", "shape", "layout", "requires_grad"):
        if getattr(expected, name) != getattr(found, name):
            yield f"{name} is {getattr(found, name)} instead of {getattr(expected, name)}"
            return
    if found.device.type != KIND:
        yield f"lies on {found.device}"
    try:
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), **_close(expected.dtype), equal_nan=True)
    except AssertionError as error:
        yield "values differ: " + str(error).split("\n\n", 1)[-1].split("\n")[0]
    except Exception as error:
        yield f"cannot be compared: {_short(error)}"


def _close(dtype: torch.dtype) -> dict[str, float]:
    """Real devices add halves up in wider numbers than the CPU, and torch's own code asks for that there."""
    is_half = dtype in (torch.float16, torch.bfloat16)
    return {"rtol": 1e-2, "atol": 1e-2} if is_half else {"rtol": 1e-4, "atol": 1e-5}


def _fresh(value: Any) -> Any:  # noqa: ANN401
    """The same arguments, of which each is a leaf of its own."""
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_(value.requires_grad)
    return _mapped(_fresh, value)


def _mapped(move: Callable[[Any], Any], value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(move, value))
    if isinstance(value, list | tuple):
        return type(value)(map(move, value))
    if isinstance(value, dict):
        return {key: move(each) for key, each in value.items()}
    return value


def _moved(value: Any) -> Any:  # noqa: ANN401
    """The same arguments on the stand-in."""
    if isinstance(value, torch.Tensor):
        moved = value.detach()
        if value.layout is torch.strided and not value.is_conj() and not value.is_neg() and value.numel():
            whole = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage()).to(KIND)
            return whole.as_strided(value.shape, value.stride(), value.storage_offset()).requires_grad_(
                value.requires_grad
            )
        return moved.to(KIND).requires_grad_(value.requires_grad)
    if isinstance(value, str | torch.device):
        return torch.device(KIND) if str(value) == "cpu" else value
    return _mapped(_moved, value)


def _tensors(value: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]


def rows(count: Count) -> list[str]:
    """Of the page: the figures, and what differs in each operator, whatever the number of its values."""
    figures = f"{count.samples} samples of {count.operators} operators, {len(count.failed)} operators differ"
    found = ["```text", figures, "```"]
    if count.failed:
        found += ["", "| operator | dtypes | what differs |", "|---|---|---|"]
    for name, failures in sorted(count.failed.items()):
        by_what: dict[str, dict[str, None]] = {}
        for failure in failures:
            what = re.sub(r"values differ: .*", "some values, beyond the tolerance", failure.what)
            what = re.sub(r"((?:raises|refuses:) \w+): .*", r"\1", what)
            by_what.setdefault(what, {})[failure.dtype] = None
        found += [f"| `{name}` | {', '.join(dtypes)} | {what} |" for what, dtypes in by_what.items()]
    return found


def write_page(count: Count, target: Path, *, check: bool) -> int:
    page = PAGE.read_text("utf-8")
    text = "".join(f"{row}\n" for row in (BEGIN, *rows(count), END))
    written = re.sub(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", lambda _: text, page, flags=re.DOTALL)
    if not check:
        target.write_text(written, "utf-8")
    return int(check and written != page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", choices=("few", "all"), default="few")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    dtypes = _ALL if options.page or options.dtypes == "all" else _FEW
    count = measure(dtypes, every=options.every, samples=options.samples)
    if options.page:
        return write_page(count, options.output, check=options.check)
    print(f"{count.samples} samples of {count.operators} operators, {len(count.failed)} operators differ")
    for name, failures in sorted(count.failed.items()):
        print(f"- `{name}`", *(f"    - {failure.dtype}: {failure.what}" for failure in failures), sep="\n")
    return bool(count.failures)


if __name__ == "__main__":
    sys.exit(main())
