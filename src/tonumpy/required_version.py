"""The version of tonumpy that a file of settings asks for."""

from __future__ import annotations

import tonumpy


def check_required_version(value: object) -> None:
    """ValueError where the text is no version or specifier of versions (PEP 440), or where this version is another.

    A bare version asks for that one alone, as in ruff.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # only where a version is asked for: start-up

    if not isinstance(value, str):
        raise ValueError(f'expected a specifier of versions, such as ">=0.1", found {value!r}')
    text = value.strip()
    try:
        wanted = SpecifierSet(f"=={text}" if text[:1].isdigit() else text)
    except InvalidSpecifier as error:
        raise ValueError(f'expected a specifier of versions, such as ">=0.1", found "{value}"') from error
    if tonumpy.__version__ != "unknown" and not wanted.contains(tonumpy.__version__, prereleases=True):
        raise ValueError(f"this is tonumpy {tonumpy.__version__}, and the file asks for {wanted}")
