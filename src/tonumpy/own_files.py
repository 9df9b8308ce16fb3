"""Reads files that tonumpy itself has written: bytes to what a parser makes of them."""

from collections.abc import Callable
from typing import TypeVar

from tonumpy.config import ConfigError
from tonumpy.text.reading import read_regular

_T = TypeVar("_T")


def read_own(path: str, parsed: Callable[[str, bytes], _T], advice: str = "") -> _T:
    """ConfigError where there is no file, with the advice, or it is not what we write, as `parsed` tells."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}{advice}") from error
    return parsed(path, data)
