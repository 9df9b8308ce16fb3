"""The mark of an error that hardware raises: the stand-in does not fall back to the CPU for it."""

from __future__ import annotations


def refusal(kind: type[Exception], text: str) -> Exception:
    """An error that hardware raises: nothing falls back to the CPU for it."""
    error = kind(text)
    error.is_refusal = True  # type: ignore[attr-defined]
    return error


def is_refusal(error: BaseException) -> bool:
    """Whether it is one of these."""
    return bool(getattr(error, "is_refusal", False))
