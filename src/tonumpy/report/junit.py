"""Renders findings and errors as a JUnit report: a test suite per file, a failed test per finding, and one passed test
if there is none."""

import os
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tonumpy.report import Report, absolute
from tonumpy.report.parts.entries import Entry, entries
from tonumpy.text.visible import visible

_PACKAGE = "org.tonumpy"
_HOME = {"package": _PACKAGE}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    suites: dict[str, list[Entry]] = {}
    for entry in entries(report):
        suites.setdefault(visible(absolute(entry.filename)), []).append(entry)
    failures, errors = len(report.findings), len(report.errors)
    root = Element("testsuites", {"name": "tonumpy"} | _counts(failures + errors or 1, failures, errors))
    for name, found in suites.items():
        _add_suite(root, name, found)
    if not suites:
        suite = SubElement(root, "testsuite", {"name": "tonumpy"} | _counts(1, 0, 0) | _HOME)
        SubElement(suite, "testcase", name="No findings", classname=_PACKAGE)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_suite(root: Element, name: str, found: list[Entry]) -> None:
    failures = sum(entry.finding is not None for entry in found)
    counts = _counts(len(found), failures, len(found) - failures)
    suite = SubElement(root, "testsuite", {"name": name} | counts | _HOME)
    for entry in found:
        row, column = map(str, entry.start)
        where = {"classname": os.path.splitext(name)[0], "line": row, "column": column}
        case = {"name": f"{_PACKAGE}.{entry.code}"} | where
        tag, message = "failure" if entry.finding is not None else "error", visible(entry.message)
        told = SubElement(SubElement(suite, "testcase", case), tag, message=message)
        told.text = f"line {row}, col {column}, {message}"


def _counts(tests: int, failures: int, errors: int) -> dict[str, str]:
    return {"tests": str(tests), "skipped": "0", "failures": str(failures), "errors": str(errors)}
