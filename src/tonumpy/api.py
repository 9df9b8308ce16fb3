"""The public functions: the source of one module in; its findings, or the repaired source, out."""

from __future__ import annotations

from typing import overload

from tonumpy import pipeline
from tonumpy.config import Settings, read_codes
from tonumpy.inference.index.project import Project
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.findings import Finding, Style


def check_source(
    source: str | bytes,
    filename: str = "<source>",
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool = False,
    style: Style = "links",
) -> list[Finding]:
    """The findings in the order of the text, less those that a `# noqa` comment suppresses.

    `select` and `ignore` take codes or their beginnings, as on the command line. No configuration file is read.
    SourceError where the source cannot be decoded or parsed, ValueError for an unknown code.
    """
    module = _source(source, filename)
    return suppress(module, pipeline.check(module, _settings(select, ignore, strict, style), Project()))


@overload
def fix_source(
    source: str,
    filename: str = ...,
    *,
    select: Sequence[str] = ...,
    ignore: Sequence[str] = ...,
    strict: bool = ...,
    style: Style = ...,
    unsafe: bool = ...,
) -> str: ...
@overload
def fix_source(
    source: bytes,
    filename: str = ...,
    *,
    select: Sequence[str] = ...,
    ignore: Sequence[str] = ...,
    strict: bool = ...,
    style: Style = ...,
    unsafe: bool = ...,
) -> bytes: ...
def fix_source(
    source: str | bytes,
    filename: str = "<source>",
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool = False,
    style: Style = "links",
    unsafe: bool = False,
) -> str | bytes:
    """The repaired source, as the type that was given; `unsafe` applies unsafe fixes too.

    What is not repaired stays as it is, byte for byte. The other arguments and the errors are those of `check_source`.
    """
    module = _source(source, filename)
    text = pipeline.fix(module, _settings(select, ignore, strict, style), Project(), unsafe=unsafe).text
    return text if isinstance(source, str) else module.encode(text)


def _source(source: str | bytes, filename: str) -> Source:
    return Source.from_text(source, filename) if isinstance(source, str) else Source(source, filename)


def _settings(select: Sequence[str], ignore: Sequence[str], strict: bool, style: Style) -> Settings:
    return Settings(select=read_codes(select), ignore=read_codes(ignore), strict=strict, style=style)
