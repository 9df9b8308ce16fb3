"""Findings and errors as a JUnit report: a test suite a file, a failed test a finding, and one that passed if there is
none."""

import os
from xml.sax.saxutils import escape, quoteattr

from tonumpy.report import Report, absolute
from tonumpy.report.parts.entries import Entry, entries
from tonumpy.text.visible import visible

_PACKAGE = "org.tonumpy"


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    suites: dict[str, list[Entry]] = {}
    for entry in entries(report):
        suites.setdefault(absolute(entry.filename), []).append(entry)
    failures = len(report.findings)
    errors = len(report.errors)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="tonumpy" {_counts(failures + errors or 1, failures, errors)}>')
    for name, found in suites.items():
        lines += _suite(name, found)
    if not suites:
        lines.append(f'  <testsuite name="tonumpy" {_counts(1, 0, 0)} package="{_PACKAGE}">')
        lines += [f'    <testcase name="No findings" classname="{_PACKAGE}" />', "  </testsuite>"]
    return "\n".join((*lines, "</testsuites>", ""))


def _suite(name: str, found: list[Entry]) -> list[str]:
    failures = sum(entry.finding is not None for entry in found)
    counts = _counts(len(found), failures, len(found) - failures)
    lines = [f'  <testsuite name={_quoted(name)} {counts} package="{_PACKAGE}">']
    for entry in found:
        (row, column), tag = entry.start, "failure" if entry.finding is not None else "error"
        case = f'name="{_PACKAGE}.{entry.code}" classname={_quoted(os.path.splitext(name)[0])}'
        text = f"line {row}, col {column}, {entry.message}"
        lines.append(f'    <testcase {case} line="{row}" column="{column}">')
        lines.append(f"      <{tag} message={_quoted(entry.message)}>{escape(_legal(visible(text)))}</{tag}>")
        lines.append("    </testcase>")
    return [*lines, "  </testsuite>"]


def _counts(tests: int, failures: int, errors: int) -> str:
    return f'tests="{tests}" skipped="0" failures="{failures}" errors="{errors}"'


def _quoted(text: str) -> str:
    return quoteattr(_legal(visible(text)), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _legal(text: str) -> str:
    """XML has no way to write some characters, not even as references."""
    return "".join(each if _is_legal(each) else f"\\x{ord(each):02x}" for each in text)


def _is_legal(character: str) -> bool:
    code = ord(character)
    return character in "\t\n\r" or (code >= 0x20 and not 0xD800 <= code < 0xE000 and code not in (0xFFFE, 0xFFFF))
