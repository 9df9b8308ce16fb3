"""What several test files need."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the .fixed.py twins of the fixtures")


@pytest.fixture(scope="session")
def update_fixtures(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update"))
