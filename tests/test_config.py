"""Which settings hold for a file: the nearest [tool.tonumpy] table, the command line over it, and what is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tonumpy
from tonumpy import check_paths
from tonumpy.boundary.foreign import FOREIGN_FOLDERS
from tonumpy.config import Choices, ConfigError, Configuration, Settings, combine, read_table
from tonumpy.globs import Exclude, FileIgnores
from tonumpy.own_functions import OwnPromise, OwnSink
from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


def selected(settings: Settings) -> list[str]:
    return [rule.code for rule in all_rules() if settings.selects(rule)]


def on_by_default() -> list[str]:
    return [rule.code for rule in all_rules() if rule.on_by_default]


# selection


def test_by_default_the_rules_that_are_on_by_default_are_selected() -> None:
    assert selected(Settings()) == on_by_default()
    assert "TNP300" not in on_by_default()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(Settings(select=("TNP101",)), ["TNP101"], id="a code"),
        pytest.param(Settings(select=()), [], id="nothing"),
        pytest.param(Settings(select=(), extend_select=("TNP102",)), ["TNP102"], id="nothing but"),
        pytest.param(Settings(select=("TNP102", "TNP300")), ["TNP102", "TNP300"], id="codes"),
        pytest.param(Settings(select=("TNP1",), ignore=("TNP101",)), ["TNP102", "TNP103"], id="the longer ignore wins"),
        pytest.param(Settings(select=("TNP101",), ignore=("TNP1",)), ["TNP101"], id="the longer select wins"),
        pytest.param(Settings(select=("TNP101",), ignore=("TNP101",)), [], id="ignore wins a tie"),
        pytest.param(Settings(select=("TNP101",), strict=True), ["TNP101", "TNP300"], id="strict adds its rule"),
        pytest.param(Settings(select=("TNP300",), ignore=("TNP",)), ["TNP300"], id="all but one"),
        pytest.param(Settings(strict=True, ignore=("TNP300",), select=("TNP101",)), ["TNP101"], id="strict ignored"),
        pytest.param(Settings(select=("ALL",)), ["TNP101", "TNP102", "TNP103", "TNP300"], id="all"),
        pytest.param(Settings(select=("ALL",), ignore=("TNP10",)), ["TNP300"], id="all but some"),
        pytest.param(Settings(select=("ALL", "TNP101"), ignore=("ALL",)), ["TNP101"], id="ALL is the least close"),
        pytest.param(
            Settings(extend_select=("TNP300",)), ["TNP101", "TNP102", "TNP103", "TNP300"], id="those on, and another"
        ),
        pytest.param(
            Settings(extend_select=("TNP101",), ignore=("TNP",)), ["TNP101"], id="none of those on, but another"
        ),
        pytest.param(Settings(select=("TNP101",), extend_select=("TNP102",)), ["TNP101", "TNP102"], id="and another"),
        pytest.param(Settings(select=("TNP1",), ignored_here=("TNP101",)), ["TNP102", "TNP103"], id="off in this file"),
        pytest.param(Settings(select=("TNP101",), ignored_here=("TNP1",)), [], id="off in this file, whatever selects"),
    ],
)
def test_selection(settings: Settings, expected: list[str]) -> None:
    ours = ("TNP101", "TNP102", "TNP103", "TNP300")
    assert [code for code in selected(settings) if code in ours] == expected


def test_a_rule_that_is_off_needs_more_than_the_bare_prefix() -> None:
    assert selected(Settings(select=("TNP",))) == on_by_default()
    assert "TNP300" in selected(Settings(select=("TNP3",)))
    assert selected(Settings(strict=True)) == sorted([*on_by_default(), "TNP300"])


def test_the_command_line_starts_the_selection_anew() -> None:
    file = Choices(select=("TNP101",), ignore=("TNP102",), strict=True)
    assert combine(file, Choices(select=("TNP102",))) == Settings(select=("TNP102",))
    assert combine(file, Choices(ignore=("TNP103",))) == Settings(
        select=("TNP101",), ignore=("TNP102", "TNP103"), strict=True
    )
    assert combine(file, Choices(strict=False)).strict is False


def test_what_the_command_line_adds_to_the_selection() -> None:
    file = Choices(select=("TNP101",), extend_select=("TNP300",), ignore=("TNP102",))
    assert selected(combine(file, Choices(extend_select=("TNP301",)))) == ["TNP101", "TNP300", "TNP301"]
    assert selected(combine(file, Choices(extend_select=("TNP10",), ignore=("TNP104",)))) == [
        *("TNP101", "TNP102", "TNP103", "TNP105", "TNP106", "TNP107", "TNP108", "TNP109", "TNP300")
    ]
    assert selected(combine(file, Choices(select=("TNP102",)))) == ["TNP102"]


def test_an_empty_selection_is_one(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """As in ruff; of a command line it is a variable that is not set."""
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy(), x.cpu().numpy()\n")
    table = tmp_path / "pyproject.toml"
    for written, *options, expected in (
        ("select = []", []),
        ("select = []", "--extend-select", "TNP102", ["TNP102"]),
        ('select = []\nextend-select = ["TNP101"]', ["TNP101"]),
        ('extend-select = ["TNP300"]', ["TNP101", "TNP102"]),
        ("select = []", "--select", "TNP1", ["TNP101", "TNP102"]),
    ):
        table.write_text(f"[tool.tonumpy]\n{written}\n")
        result = run_tonumpy("check", "-q", *options)
        assert [line.split()[1] for line in result.out.splitlines()] == expected, written
    assert "\nselect = []\n" in run_tonumpy("check", "--show-settings", "--config", "select = []").out
    result = run_tonumpy("check", "--select", "")
    assert (result.code, result.err) == (
        2,
        "tonumpy: error: --select: no rule has the code `` (see `tonumpy check --help`)\n",
    )


def test_excludes_of_the_command_line() -> None:
    here, there = Exclude("/", "here"), Exclude("/", "there")
    file = Choices(exclude=(here,), extend_exclude=(Exclude("/", "more"),))
    assert combine(file, Choices(exclude=(there,))).exclude == (there, Exclude("/", "more"))
    assert combine(file, Choices(extend_exclude=(there,))).exclude == (here, Exclude("/", "more"), there)


# which file


def test_the_nearest_table_holds(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nstrict = true\n")
    inner, nearest = tmp_path / "inner", tmp_path / "inner" / "nearest"
    nearest.mkdir(parents=True)
    (inner / "pyproject.toml").write_text('[project]\nname = "inner"\n[tool.ruff]\n')
    (nearest / "pyproject.toml").write_text('[tool.tonumpy]\nstyle = "force"\n')
    configuration = Configuration()
    assert configuration.settings_in(str(tmp_path)) == Settings(strict=True)
    assert configuration.settings_in(str(inner)) == Settings(strict=True)
    assert configuration.settings_in(str(nearest)) == Settings(style="force")
    assert Configuration(isolated=True).settings_in(str(nearest)) == Settings()


def test_a_table_governs_its_files_wherever_the_command_runs(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for name, table in (("a", "strict = true"), ("b", 'ignore = ["TNP1"]')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text(f"[tool.tonumpy]\n{table}\n")
        (tmp_path / name / "x.py").write_text(SAFE + "\n\ny = torch.zeros(3).numpy()\n")
    assert [line.split()[:2] for line in run_tonumpy("check", "-q").out.splitlines()] == [
        ["a/x.py:5:14:", "TNP101"],
        ["a/x.py:8:20:", "TNP300"],
    ]


@pytest.mark.parametrize(
    "document",
    [
        "tool.tonumpy.strict = true",
        "[tool]\ntonumpy = { strict = true }",
        "[tool]\ntonumpy.strict = true",
        "[ tool . 'tonumpy' ]\nstrict = true",
        "tool = { tonumpy = { strict = true } }",
    ],
)
def test_every_way_in_which_toml_names_the_table(tmp_path: Path, document: str) -> None:
    (tmp_path / "pyproject.toml").write_text(document)
    assert Configuration().settings_in(str(tmp_path)).strict


def test_config_option(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SAFE)
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nunknown = 1\n")
    (tmp_path / "other.toml").write_text('[tool.tonumpy]\nignore = ["TNP101"]\n')
    assert run_tonumpy("check", "--config", "other.toml").code == 0
    assert run_tonumpy("check", "--config", "other.toml", "--select", "TNP101").code == 1
    assert run_tonumpy("check", "--isolated").code == 1
    assert run_tonumpy("check", "--config", "gone.toml")[:3] == (
        2,
        "",
        "tonumpy: error: gone.toml: No such file or directory\n",
    )
    (tmp_path / "empty.toml").write_text("")
    assert "empty.toml: there is no [tool.tonumpy] table" in run_tonumpy("check", "--config", "empty.toml").err


def test_the_file_allows_unsafe_fixes(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nunsafe-fixes = true\n")
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n")
    assert "TNP101 [*] " in run_tonumpy("check").out
    assert run_tonumpy("fix", "--no-unsafe-fixes").code == 1
    assert run_tonumpy("fix").code == 0


def test_a_file_that_does_not_name_us_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project\nname = "not TOML, and not ours to report"\n')
    assert Configuration().settings_in(str(tmp_path)) == Settings()


@pytest.mark.parametrize("word", ["tnp101", "Tnp101", "bare-numpy", "Bare-Numpy"])
def test_a_code_in_any_case_and_a_name(run_tonumpy: RunTonumpy, tmp_path: Path, word: str) -> None:
    (tmp_path / "a.py").write_text(SAFE)
    (tmp_path / "pyproject.toml").write_text(f'[tool.tonumpy]\nignore = ["{word}"]\n')
    assert run_tonumpy("check").code == 0
    assert run_tonumpy("check", "--select", f"{word},all").code == 1


def test_ignores_of_files(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for name in ("tests/a.py", "src/a.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(SAFE)
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nper-file-ignores = { "tests/*" = ["TNP1"] }\n')

    def reported(*options: str) -> list[str]:
        return [line.partition(":")[0] for line in run_tonumpy("check", "-q", *options).out.splitlines()]

    assert reported() == ["src/a.py"]
    assert reported("--select", "TNP101") == ["src/a.py"]
    assert reported("--per-file-ignores", "src/a.py:TNP102,tnp101,b.py:TNP1") == ["tests/a.py"]
    assert reported("--per-file-ignores", "!src/*:TNP101") == ["src/a.py"]
    assert reported("--per-file-ignores", "{tests,src}/*:TNP101") == []
    assert reported("--isolated") == ["src/a.py", "tests/a.py"]
    assert run_tonumpy("check", "-", "--stdin-filename", "tests/b.py", stdin=SAFE.encode()).code == 0
    assert [os.path.relpath(each.filename, tmp_path) for each in check_paths([str(tmp_path)])[0]] == ["src/a.py"]
    assert run_tonumpy("fix", "tests").code == 0
    assert (tmp_path / "tests" / "a.py").read_text() == SAFE
    for wrong in ("TNP101", "tests/*:"):
        result = run_tonumpy("check", "--per-file-ignores", wrong)
        assert (result.code, "--per-file-ignores: " in result.err) == (2, True)


# a file that extends another


def test_a_file_extends_another(tmp_path: Path) -> None:
    (tmp_path / "team.toml").write_text(
        '[tool.tonumpy]\nignore = ["TNP102"]\nstrict = true\nstyle = "force"\nexclude = ["old"]\n'
    )
    inner = tmp_path / "inner"
    inner.mkdir()
    table = '[tool.tonumpy]\nextend = "../team.toml"\n'
    (inner / "pyproject.toml").write_text(f'{table}style = "links"\nignore = ["TNP103"]\n')
    assert Configuration().settings_in(str(inner)) == Settings(
        ignore=("TNP102", "TNP103"), strict=True, exclude=(Exclude(str(tmp_path), "old"),)
    )
    (inner / "pyproject.toml").write_text(f'{table}select = ["TNP1"]\nextend-exclude = ["new"]\n')
    assert Configuration().settings_in(str(inner)) == Settings(
        select=("TNP1",), style="force", exclude=(Exclude(str(tmp_path), "old"), Exclude(str(inner), "new"))
    )


@pytest.mark.parametrize(
    ("extend", "message"),
    [
        ("3", "extend: expected the path of a file, found 3"),
        ('"gone.toml"', "/gone.toml: No such file or directory"),
        ('"none.toml"', "/none.toml: there is no [tool.tonumpy] table in this file"),
        ('"wrong.toml"', '/wrong.toml: [tool.tonumpy] strict: expected true or false, found "yes"'),
        ('"back.toml"', "extend: the files extend each other in a circle"),
    ],
)
def test_what_cannot_be_extended_is_refused(tmp_path: Path, extend: str, message: str) -> None:
    (tmp_path / "none.toml").write_text("")
    (tmp_path / "wrong.toml").write_text('[tool.tonumpy]\nstrict = "yes"\n')
    (tmp_path / "back.toml").write_text('[tool.tonumpy]\nextend = "pyproject.toml"\n')
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.tonumpy]\nextend = {extend}\n")
    with pytest.raises(ConfigError) as caught:
        Configuration().settings_in(str(tmp_path))
    assert str(caught.value).startswith(f"{path}: [tool.tonumpy] extend: ")
    assert str(caught.value).endswith(message)


# what is shown of it


def test_the_settings_that_are_shown_can_be_read_again(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    table = '[tool.tonumpy]\nselect = ["tnp1"]\nexclude = ["a\\"b/*", "c"]\nstyle = "force"\njobs = 1\n'
    table += '[tool.tonumpy.per-file-ignores]\n"!tests/*" = ["TNP101"]\n'
    (tmp_path / "pyproject.toml").write_text(table)
    for name in ("a.py", "b.py", "inner/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "inner" / "pyproject.toml").write_text("[tool.tonumpy]\nstrict = true\n")
    assert run_tonumpy("check", "--show-files").out == "a.py\nb.py\ninner/c.py\n"
    result = run_tonumpy("check", "--show-settings", "--ignore", "TNP103")
    assert (result.code, result.err) == (0, "")
    first, second = result.out.split("\n\n")
    assert first.startswith(
        f"# settings of a.py\n# settings of b.py\n# read from {tmp_path}/pyproject.toml\n"
        "# rules: TNP102, TNP104, TNP105, TNP106, TNP107, TNP108, TNP109\n"
    )
    assert second.startswith(f"# settings of inner/c.py\n# read from {tmp_path}/inner/pyproject.toml\n# rules: TNP1")
    (tmp_path / "pyproject.toml").write_text(first)
    (tmp_path / "inner" / "pyproject.toml").unlink()
    again = Configuration().settings_in(str(tmp_path))
    assert again == Settings(
        select=("TNP1",),
        ignore=("TNP103",),
        exclude=(Exclude(str(tmp_path), f'{tmp_path}/a"b/*'), Exclude(str(tmp_path), "c")),
        style="force",
        jobs=1,
        per_file_ignores=(FileIgnores((Exclude(str(tmp_path), f"{tmp_path}/tests/*"),), ("TNP101",), is_negated=True),),
    )


# what is refused


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"selct": []}, "p.toml: [tool.tonumpy] has no key `selct`; did you mean `select`?"),
        ({"unsafe_fixes": True}, "p.toml: [tool.tonumpy] has no key `unsafe_fixes`; did you mean `unsafe-fixes`?"),
        ({"strict": "yes"}, 'p.toml: [tool.tonumpy] strict: expected true or false, found "yes"'),
        ({"style": "Force"}, 'p.toml: [tool.tonumpy] style: expected "links" or "force", found "Force"'),
        ({"select": "TNP101"}, 'p.toml: [tool.tonumpy] select: expected a list of strings, found "TNP101"'),
        ({"ignore": [101]}, "p.toml: [tool.tonumpy] ignore: expected a list of strings, found [101]"),
        (
            {"ignore": ["tmp101"]},
            "p.toml: [tool.tonumpy] ignore: no rule has the code `tmp101`; did you mean `TNP101`?",
        ),
        (
            {"ignore": ["bare-numpi"]},
            "p.toml: [tool.tonumpy] ignore: no rule has the name `bare-numpi`; did you mean `bare-numpy`?",
        ),
        (
            {"per-file-ignores": ["TNP101"]},
            "p.toml: [tool.tonumpy] per-file-ignores: expected a table of globs, found ['TNP101']",
        ),
        (
            {"per-file-ignores": {"tests/*": ["TNP1011"]}},
            'p.toml: [tool.tonumpy] per-file-ignores: "tests/*": no rule has the code `TNP1011`; did you mean `TNP101',
        ),
        ({"select": [""]}, "p.toml: [tool.tonumpy] select: no rule has the code ``; known are `TNP101`"),
        ({"jobs": -1}, 'p.toml: [tool.tonumpy] jobs: expected a number of processes or "auto", found -1'),
        ({"baseline": 1}, "p.toml: [tool.tonumpy] baseline: expected the path of a file, found 1"),
        ({"jobs": True}, 'p.toml: [tool.tonumpy] jobs: expected a number of processes or "auto", found true'),
        (5, "p.toml: tool.tonumpy: expected a table, found 5"),
    ],
)
def test_what_cannot_be_followed_is_refused(table: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_table(table, "p.toml")
    assert str(caught.value).startswith(message)


def test_an_unknown_key_without_a_likeness_gets_the_list() -> None:
    with pytest.raises(ConfigError, match="has no key `zzz`; known are `baseline`, `cache-dir`, `confidence`, "):
        read_table({"zzz": 1}, "p.toml")


def test_every_setting_has_its_key_in_the_table(tmp_path: Path) -> None:
    table = {
        "select": ["TNP1"],
        "extend-select": ["TNP300"],
        "ignore": ["TNP103"],
        "per-file-ignores": {"tests/*": ["TNP101"]},
        "strict": True,
        "preview": True,
        "style": "force",
        "links": "needed",
        "output-format": "json",
        "exclude": ["a"],
        "extend-exclude": ["b"],
        "force-exclude": True,
        "unsafe-fixes": True,
        "jobs": "auto",
        "confidence": "high",
        "disable-habits": ["label-name"],
        "baseline": "known.json",
        "cache-dir": "kept",
        "observed": "seen.json",
        "promises": [{"function": "mylib.load", "returns": "tensor", "device": "cpu", "grad": False}],
        "sinks": [{"function": "mylib.show", "converts": 0}],
    }
    choices = read_table(table, str(tmp_path / "pyproject.toml"))
    assert combine(choices, Choices()) == Settings(
        select=("TNP1",),
        extend_select=("TNP300",),
        ignore=("TNP103",),
        per_file_ignores=(FileIgnores((Exclude(str(tmp_path), "tests/*"),), ("TNP101",)),),
        strict=True,
        preview=True,
        style="force",
        links="needed",
        output_format="json",
        exclude=(Exclude(str(tmp_path), "a"), Exclude(str(tmp_path), "b")),
        force_exclude=True,
        unsafe_fixes=True,
        jobs=0,
        confidence="high",
        disable_habits=("label-name",),
        baseline=os.path.relpath(tmp_path / "known.json"),
        cache_dir=os.path.relpath(tmp_path / "kept"),
        observed=os.path.relpath(tmp_path / "seen.json"),
        promises=(OwnPromise("mylib.load", ("tensor",), "cpu", "never"),),
        sinks=(OwnSink("mylib.show", (0,)),),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool.tonumpy]\nstrict = yes\n", "not valid TOML: "),
        (b"[tool.tonumpy]\n# \xff\n", "not valid TOML: "),
        (b"[tool.tonumpy]\nsrict = true\n", "[tool.tonumpy] has no key `srict`; did you mean `strict`?"),
        (b"[tool.tonumpy.lint]\nselect = []\n", "[tool.tonumpy.lint]: put its keys one level up, in [tool.tonumpy]\n"),
        (b"[tool.tonumpy]\nlint.select = []\n", "[tool.tonumpy.lint]: put its keys one level up, in [tool.tonumpy]\n"),
        (
            b"[tool.tonumpy]\nnew-key = 1\nrequired-version = '>=99, <100'\n",
            f"[tool.tonumpy] required-version: this is tonumpy {tonumpy.__version__}, and the file asks for <100,>=99",
        ),
        (
            b"[tool.tonumpy]\nrequired-version = '99.1'\n",
            f"[tool.tonumpy] required-version: this is tonumpy {tonumpy.__version__}, and the file asks for ==99.1\n",
        ),
        (
            b"[tool.tonumpy]\nrequired-version = 'new'\n",
            "[tool.tonumpy] required-version: expected a specifier of versions",
        ),
        (
            b"[tool.tonumpy]\nrequired-version = 1\n",
            "[tool.tonumpy] required-version: expected a specifier of versions",
        ),
    ],
)
def test_a_wrong_file_ends_the_run(run_tonumpy: RunTonumpy, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    (tmp_path / "a.py").write_text(SAFE)
    result = run_tonumpy("check")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tonumpy: error: {tmp_path / 'pyproject.toml'}: {message}")


@pytest.mark.parametrize("wanted", [">=0", tonumpy.__version__, f"~={tonumpy.__version__}"])
def test_the_version_that_is_required_may_be_this(run_tonumpy: RunTonumpy, tmp_path: Path, wanted: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.tonumpy]\nrequired-version = '{wanted}'\n")
    (tmp_path / "a.py").write_text(SAFE)
    result = run_tonumpy("check")
    assert (result.code, result.err) == (1, "")


def _keys() -> set[str]:
    with pytest.raises(ConfigError) as caught:
        read_table({"?": 1}, "p.toml")
    return set(re.findall(r"`([a-z-]+)`", str(caught.value).partition("known are")[2]))


def test_every_key_is_described() -> None:
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text("utf-8")
    (table, *_) = page.split("\n## ")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.MULTILINE)) == _keys()


def test_of_every_key_it_is_said_whether_it_counts_under_flake8() -> None:
    page = (Path(__file__).parent.parent / "docs" / "flake8.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \| (?:yes|no)", page, flags=re.MULTILINE)
    assert sorted(re.findall(r"[a-z-]{2,}", " ".join(rows))) == sorted(_keys())


def test_the_folders_that_are_skipped_are_described() -> None:
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text("utf-8")
    (line,) = re.findall(r"^- \*\*Never\*\*.* these folders: (.*)\.$", page, flags=re.MULTILINE)
    assert set(re.findall(r"`([^`]+)`", line)) == FOREIGN_FOLDERS


def test_every_key_is_shown(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """But for `extend` and `extend-exclude`, which are part of others by then, and for the version of tonumpy."""
    table = '[tool.tonumpy]\nconfidence = "high"\ndisable-habits = ["label-name"]\n'
    table += 'baseline = "b.json"\ncache-dir = "c"\nobserved = "seen.json"\noutput-format = "concise"\n'
    table += 'per-file-ignores = { "a.py" = ["TNP101"] }\n[[tool.tonumpy.promises]]\nfunction = "mylib.f"\n'
    (tmp_path / "pyproject.toml").write_text(f'{table}returns = "tensor"\n')
    (tmp_path / "a.py").touch()
    (tmp_path / "b.json").write_text('{"version": 1, "findings": []}')
    result = run_tonumpy("check", "--show-settings")
    shown = set(re.findall(r"^(?:# |\[tool\.tonumpy\.)?([a-z-]+)(?: = |: |\]$)", result.out, flags=re.MULTILINE))
    assert _keys() - shown == {"extend", "extend-exclude", "required-version"}
    assert {'confidence = "high"', 'disable-habits = ["label-name"]'} <= set(result.out.splitlines())
