"""What several test files need."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest
from fixture_format import FOLDER
from time_limits import PATIENCE

from tonumpy.engine.names import repository
from tonumpy.engine.names.reads import NameSearch

if TYPE_CHECKING:
    from collections.abc import Iterator


# What a test is about is done each time, unless it is about what is kept; nothing is kept in the folders of the user.
os.environ["TONUMPY_NO_CACHE"] = "1"
# What the hundreds of commands import is compiled once, as it is for users: it is more than half of what each takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A shell ignores Ctrl-C for what it starts by `&`, and so do all commands below, which then never end by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Result(NamedTuple):
    """What a finished command leaves behind."""

    code: int
    out: str
    err: str
    out_bytes: bytes


class RunTonumpy(Protocol):
    """Runs the command in the test's own folder, as a user would, with nothing on standard input unless it is given."""

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result: ...


@pytest.fixture
def run_tonumpy(tmp_path: Path) -> RunTonumpy:
    def run(*arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        done = subprocess.run(
            [sys.executable, "-m", "tonumpy", *arguments],
            cwd=tmp_path,
            env=inherited | environment,
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
        )
        return Result(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr), done.stdout)

    return run


@pytest.fixture(scope="session", autouse=True)
def _own_repository_is_read_once() -> Iterator[None]:
    """Each project reads the repository around a text anew, to look for callers: for most tests this one, of which the
    fixtures are looked through alone, as where a command is given them (`fixtures_alone`), and which stays as it is
    meanwhile. Other repositories are read as ever."""
    read, search, top_of_own = repository.read_texts, repository.Searched._search, str(FOLDER.parent)

    @cache
    def own() -> dict[str, bytes] | None:
        return read(str(FOLDER))

    @cache
    def found_in_own(asked: NameSearch) -> list[str]:
        return list(repository.where_it_stands(asked, (own() or {}).items()))

    def read_once(top: str) -> dict[str, bytes] | None:
        return own() if top == top_of_own else read(top)

    def search_once(of: repository.Searched, asked: NameSearch, texts: dict[str, bytes]) -> list[str]:
        return found_in_own(asked) if texts and texts is own() else search(of, asked, texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repository, "read_texts", read_once)
        patch.setattr(repository.Searched, "_search", search_once)
        yield


@pytest.fixture(scope="session")
def fixtures_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the fixtures in a repository of their own, so that callers are looked for in nothing else."""
    top = tmp_path_factory.mktemp("alone")
    (top / "pyproject.toml").touch()  # others may call what can be installed, as they may where the fixtures lie
    return Path(shutil.copytree(FOLDER, top / FOLDER.name))


@pytest.fixture
def no_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The callers of what a text without a place defines are looked for in the repository around the working folder."""
    monkeypatch.chdir(tmp_path)


# Those that take longest: begun first, so that nobody waits for one of them at the end.
_LONGEST = ("test_torch_api.py", "test_shortcuts.py", "test_runtime.py", "test_fixtures.py")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """For the whole suite a process a core; for what the command line names none but pytest's own."""
    return 0 if config.args_source is config.ArgsSource.ARGS else min(os.cpu_count() or 1, 8)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    is_named = config.args_source is config.ArgsSource.ARGS
    if not is_named and not config.getoption("--slow") and "slow" not in config.getoption("-m"):
        left_out = [item for item in items if item.get_closest_marker("slow") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well, as CI does")
    parser.addoption("--update", action="store_true", help="rewrite the .fixed.py twins of the fixtures")


@pytest.fixture(scope="session")
def update_fixtures(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update"))
