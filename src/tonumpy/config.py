"""What the user chose: select, ignore, strict, style."""

from __future__ import annotations

from typing import NamedTuple

from tonumpy.findings import Style


class Settings(NamedTuple):
    """`select` and `ignore` hold codes or their beginnings ("TNP1"); an empty `select` means the rules on by default."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    style: Style = "links"
