"""Byte tests, passing over statements, kept modules and processes only save time: the plain way
finds the same, in every fixture and in a real package."""

import ast
import contextlib
import gc
import importlib.util
import json
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path

import pytest
from fixture_format import read_fixtures

from tonumpy import pipeline
from tonumpy.cli.files import find_files
from tonumpy.cli.parallel import POOL_FROM
from tonumpy.config import Configuration, Settings
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.sink_calls import find_consumers
from tonumpy.engine.names.project import Project
from tonumpy.findings import SourceError
from tonumpy.garbage import Paused
from tonumpy.text.candidates import find_candidates
from tonumpy.text.noqa import suppress
from tonumpy.text.prefilter import kinds_in, may_hold_risks
from tonumpy.text.source import Source, parse

FIXTURES = str(Path(__file__).parent.parent / "fixtures")
_TORCH = importlib.util.find_spec("torch")
# Where torch is not installed, another package that is.
PACKAGE = Path((_TORCH or importlib.util.find_spec("libcst")).origin).parent / ("testing" if _TORCH else "")
FOLDERS = [FIXTURES, str(PACKAGE)]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    """Every file that can be parsed, whatever is in it."""
    found = []
    for path in find_files(FOLDERS, Configuration(isolated=True)).files:
        with contextlib.suppress(SourceError):
            source = Source(Path(path).read_bytes(), path)
            assert parse(source.text, path)
            found.append(source)
    return found


def test_no_candidate_is_passed_over(sources: list[Source]) -> None:
    """In files that say `.numpy(`: spaced out as `x . numpy ()`, which no formatter leaves so, it is not looked for."""
    for source in (source for source in sources if ".numpy(" in source.text):
        everywhere = {
            node
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy"
            if not node.args and all(keyword.arg in ("force", None) for keyword in node.keywords)
        }
        found = [candidate.call for candidate in find_candidates(source) if not candidate.is_unbound]
        assert everywhere == set(found), source.filename
        assert len(found) == len(everywhere)


def test_no_file_with_a_consumer_is_passed_over(sources: list[Source]) -> None:
    """By the words that a file must hold to be parsed; without one of a risk, only what refuses all is told of."""
    found = [
        source for source in sources if may_hold_risks(source.text) and find_consumers(source, PossibleTensors(source))
    ]
    assert len(found) > 20
    for source in found:
        assert "arguments" in kinds_in(source.text), source.filename
        assert "arguments" in kinds_in(source.data or b"")


@pytest.mark.parametrize(
    ("imports", "holds"),
    [
        ("import numpy as np", True),
        ("import os, numpy", True),
        ("import os, \\\n    numpy", True),
        ("import os, \\\r\n    numpy\r\n", True),
        ("from numpy import (\n    median,\n)", True),
        ("def f():\n    from matplotlib import pyplot", True),
        ("import json\njson.dumps(x)", True),
        ("import json\njson.load(x)", False),
        ("import os\n# numpy", False),
        ("import os\nx = 'numpy'", False),
        ("import os", False),
        ("import", False),
    ],
)
def test_a_consumer_is_looked_for_where_it_is_imported(imports: str, holds: bool) -> None:
    assert ("arguments" in kinds_in(f"import torch\nx = x.cuda()\n{imports}")) is holds
    assert "arguments" not in kinds_in(f"x = x.cuda()\n{imports}")
    # What refuses every tensor, as json does, needs no word of a risk.
    assert ("arguments" in kinds_in(f"import torch\n{imports}")) is (holds and "json" in imports)


@pytest.fixture(scope="module")
def each_by_itself(sources: list[Source]) -> list[tuple[str, str, str, int, int]]:
    """The findings of one file after the other, with nothing kept from one to the next."""
    fresh = (Source(source.data or b"", source.filename) for source in sources)
    return [
        (finding.filename, finding.code, finding.message, *finding.start)
        for source in fresh
        for finding in suppress(source, pipeline.check(source, Settings(), Project()))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_finds_the_same(
    jobs: int, sources: list[Source], each_by_itself: list[tuple[str, str, str, int, int]], fixtures_alone: Path
) -> None:
    assert sum(b".numpy(" in (source.data or b"") for source in sources) > POOL_FROM
    command = [sys.executable, "-m", "tonumpy", "check", "--isolated", "--output-format=json", f"--jobs={jobs}"]
    command.append("--exclude=*.ipynb")  # of whose cells test_notebooks.py speaks
    run = subprocess.run([*command, str(fixtures_alone), str(PACKAGE)], capture_output=True, text=True)
    found = [
        (
            each["filename"].replace(str(fixtures_alone), FIXTURES),
            each["code"],
            each["message"],
            each["location"]["row"],
            each["location"]["column"],
        )
        for each in json.loads(run.stdout)
        if each["code"] != "invalid-syntax"  # to this Python
    ]
    assert sorted(found, key=itemgetter(0)) == sorted(each_by_itself, key=itemgetter(0))


@pytest.mark.slow
def test_every_run_says_the_same(fixtures_alone: Path) -> None:
    """Sets have no order of their own: it changes with the hashes of strings, which Python draws by lot.

    Files that are to be silent are so in all the runs above, and in those of test_fixtures.py.
    """
    names = [fixture.name for fixture in read_fixtures() if fixture.expected]
    command = [sys.executable, "-m", "tonumpy", "check", "--isolated", *names]

    def run(seed: int) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        return subprocess.run(command, capture_output=True, env=environment, cwd=fixtures_alone).stdout

    with ThreadPoolExecutor(2) as pool:
        (said,) = set(pool.map(run, range(4)))
    assert said.count(b"TNP") > len(names)


@pytest.mark.slow
def test_nothing_is_left_of_a_file_that_has_been_checked(tmp_path: Path) -> None:
    """Without the garbage collector, which is off during a run."""
    texts = {fixture.path: fixture.path.read_bytes() for fixture in read_fixtures()}
    settings, project = Settings(select=("TNP1", "TNP2", "TNP3")), Project()

    def trees_after(files: list[tuple[Path, bytes]]) -> int:
        for path, text in files:
            if b"\nfrom clean_" not in text:  # what a file imports of the fixtures is kept
                with contextlib.suppress(SourceError):
                    pipeline.check(Source(text, str(tmp_path / path.name)), settings, project)
        return sum(type(each) is ast.Module for each in gc.get_objects())

    files = list(texts.items())
    trees_after(files[:100])  # the newest files stay in a few caches of fixed size
    gc.collect()
    with Paused():
        before = trees_after([])
        assert trees_after(files) <= before


def test_a_tree_goes_with_its_source() -> None:
    """Without the garbage collector, which is off during a run."""
    body = "    x = x + 1\n" * 100
    source = Source(f"import torch\n\n\ndef f(x):\n{body}".encode(), "long.py")
    assert source.tree.body
    reference = weakref.ref(source)
    with Paused():
        del source
        assert reference() is None
