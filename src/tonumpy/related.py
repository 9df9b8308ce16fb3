"""Finds the other lines that a finding mentions: where memory is written and read, where torch uses the result.
Reports show them as evidence, and as related locations."""

from __future__ import annotations

from tonumpy.conversions import ArgumentConversion, MethodConversion, SharedMemory
from tonumpy.detectors.memory import Overwritten, Side
from tonumpy.findings import Ground


def lines_of_memory(shared: Overwritten | None, written: Side, filename: str) -> tuple[Ground, ...]:
    """The lines that write the memory of one side and read that of the other."""
    if shared is None:
        return ()
    read = "array" if written == "tensor" else "tensor"
    told = [(shared.write, f"overwrites the {written}")]
    told.append((shared.read, f"`{shared.kept_in}` still holds the {read}" if shared.kept_in else f"reads the {read}"))
    return tuple(Ground("code", "memory", "", message, filename, row) for row, message in told if row)


def of_written_tensor(conversion: MethodConversion | SharedMemory, filename: str) -> tuple[Ground, ...]:
    return lines_of_memory(conversion.tensor_written, "tensor", filename)


def of_written_array(conversion: MethodConversion | SharedMemory, filename: str) -> tuple[Ground, ...]:
    return lines_of_memory(conversion.array_written, "array", filename)


def of_argument(conversion: ArgumentConversion, filename: str) -> tuple[Ground, ...]:
    """The line where torch uses the result."""
    row = conversion.back_in_torch
    if row is None or not conversion.would_cut_gradient:
        return ()
    return (Ground("code", "result", "", "uses the result in torch", filename, row),)
