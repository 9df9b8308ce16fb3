"""Puts random programs through `check`, `fix`, `why` and notebooks, and holds these to what must hold for any program.

The programs are real files that are changed at random (`mutants`), and those of hypothesmith with conversions grafted
upon them. None of them is ever run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import random
import re
import time
import tokenize
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import CONFIDENCES, STYLES, Finding, SourceError
from tonumpy.pipeline import Fixed, check, fix
from tonumpy.text.noqa import suppress
from tonumpy.text.sources import source_of
from tonumpy.why import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tonumpy.text.source import Source

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
SLOW = 20.0  # seconds of the processor for one program
_LONGEST = 2_500  # characters of a program that is to be changed: of longer ones some statements are taken

HEAD = """\
import numpy as np
import torch


def made(x: torch.Tensor, m: torch.nn.Module, flag=True):
    return m(x)


"""

AROUND_EXPRESSION = [
    *["({})" + chain for chain in (".numpy()", ".cpu().numpy()", ".detach().numpy()", ".detach().cpu().numpy()")],
    *["({})" + chain for chain in (".data.cpu().numpy()", ".cpu().data.numpy()", ".cpu().detach().numpy().copy()")],
    *["({})" + chain for chain in (".numpy(force=True)", ".cuda()", ".to('cuda')", ".requires_grad_()", ".half()")],
    *["({})" + chain for chain in (".clone().numpy()", ".numpy().tolist()", "[0].numpy()", ".bfloat16().numpy()")],
    *["np.asarray({})", "np.array([{}, {}])", "torch.as_tensor({})", "made({}, torch.nn.Linear(3, 3))", "(yield {})"],
    *["f'{{{}}}'", "(lambda: {})()", "[each.numpy() for each in {}]", "(y := {}).numpy()"],
    "({} if flag else x).numpy()",
]
AROUND_STATEMENT = [
    "with torch.no_grad():",
    "with torch.set_grad_enabled(flag):",
    "if torch.cuda.is_available():",
    "if not x.requires_grad:",
    "for x in [x]:",
    "while flag:",
    "def inner(x: torch.Tensor):",
    "async def inner(x=flag):",
    "class Inner(torch.nn.Module):",
    "match x:\n    case [x, *_] | {'x': x}:",
    "try:\n    pass\nexcept (RuntimeError, TypeError) as x:",
    "try:\n    x.numpy()\nfinally:",
    "@torch.no_grad()\ndef inner(self, x):",
]
ENDS = ["  # noqa", "  # noqa: TNP101", "  # noqa:TNP102,E501", "  # type: int", "  # \u00e9\U0001f600"]
ENDS += [" ;", " \\", "\x0c"]
CHARACTERS = [*"()[]{}:,.;=\\'\"#@*%! \t\n\r\x0c\0\ufeff\u2028\u00e9a0_", "'''", "lambda:", "f'{", "async "]


class Program(NamedTuple):
    """A text, and how it was made: enough to make it again."""

    text: str
    origin: str


class Flaw(NamedTuple):
    """What does not hold for a program."""

    what: str
    detail: str


class Examined(NamedTuple):
    """The flaws of a program, and what was seen of it: "parsed", "found", "repaired", "notebook"."""

    flaws: list[Flaw]
    traits: set[str]


# programs


def seeds(folder: Path) -> list[Path]:
    """Files that may hold conversions, in an order that is the same everywhere."""
    words = re.compile(rb"numpy|asarray")
    return [path for path in sorted(folder.rglob("*.py")) if path.is_file() and words.search(path.read_bytes())]


@cache
def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def mutant(paths: Sequence[Path], number: int) -> Program:
    """One of the files, changed; the same for the same files and the same number."""
    choice = random.Random(number)
    path, donor = choice.choice(paths), choice.choice(paths)
    text = mutated(read(path), read(donor), choice)
    return Program(text, f"{path.name} with {donor.name}, number {number}")


def grafted(text: str, paths: Sequence[Path], number: int) -> Program:
    """A program of somebody else's with conversions in it."""
    choice = random.Random(number)
    rest = text if choice.random() < 0.5 else f"{HEAD}{text}"
    return Program(mutated(rest, read(choice.choice(paths)), choice), f"hypothesmith, number {number}")


def texts_of_hypothesmith(seed: int, count: int) -> list[str]:
    """No more than so many, each once. Hypothesis makes larger ones the more of them it is asked for at once."""
    import hypothesis  # not for those who only want mutants
    import hypothesmith

    made: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(hypothesmith.from_grammar() if seed % 2 else hypothesmith.from_node())
    def take(text: str) -> None:
        made.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the compiler, about what these programs are like
        take()
    return sorted(set(made)) or [""]


def mutated(text: str, donor: str, choice: random.Random) -> str:
    text, donor = _shorter(text, choice), _shorter(donor, choice)
    for _ in range(choice.choice((1, 1, 2, 3, 5))):
        change = choice.choice(_CHANGES)
        text = change(text, donor, choice)
    if choice.random() < 0.05:
        text = _broken(text, choice)
    newline = choice.choice(("\n", "\n", "\n", "\r\n", "\r"))
    return text.replace("\r\n", "\n").replace("\n", newline)


def _shorter(text: str, choice: random.Random) -> str:
    if len(text) <= _LONGEST:
        return text
    tree = _parsed(text)
    if tree is None:
        start = choice.randrange(len(text) - _LONGEST)
        return text[start : start + _LONGEST]
    lines = text.splitlines(keepends=True)
    parts = [_lines_of(each, lines) for each in tree.body]
    is_import = [isinstance(each, (ast.Import, ast.ImportFrom)) for each in tree.body]
    kept = {number for number, each in enumerate(is_import) if each}
    length = 0
    for number in choice.sample(range(len(parts)), len(parts)):
        if length + len(parts[number]) < _LONGEST:
            kept.add(number)
            length += len(parts[number])
    return "".join(parts[number] for number in sorted(kept))


def _parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _lines_of(statement: ast.stmt, lines: list[str]) -> str:
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])
    text = "".join(lines[first - 1 : statement.end_lineno])
    return text if text.endswith("\n") else f"{text}\n"


def _expressions(text: str) -> list[tuple[int, int]]:
    """The spans of expressions that are read, but for those inside f-strings, of which Python says wrong places."""
    tree = _parsed(text)
    if tree is None:
        return []
    starts = [0]
    for line in text.encode().splitlines(keepends=True) if "\x0c" not in text and "\r" not in text else []:
        starts.append(starts[-1] + len(line))
    data = text.encode()
    spans: list[tuple[int, int]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        if isinstance(node, (ast.Starred, ast.Slice)) or node.end_lineno is None or node.end_col_offset is None:
            continue
        if max(node.lineno, node.end_lineno) < len(starts):
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            spans.append((len(data[:start].decode()), len(data[:end].decode())))
    return sorted(spans)


def _around_expression(text: str, _: str, choice: random.Random) -> str:
    spans = _expressions(text)
    if not spans:
        return text
    start, end = choice.choice(spans)
    form = choice.choice(AROUND_EXPRESSION)
    return text[:start] + form.replace("{}", text[start:end].replace("\n", " ")) + text[end:]


def _other_expression(text: str, donor: str, choice: random.Random) -> str:
    spans, others = _expressions(text), _expressions(donor)
    if not spans or not others:
        return text
    (start, end), (first, last) = choice.choice(spans), choice.choice(others)
    return f"{text[:start]}({donor[first:last]}){text[end:]}"


def _swapped_expressions(text: str, _: str, choice: random.Random) -> str:
    spans = _expressions(text)
    if len(spans) < 2:
        return text
    (a, b), (c, d) = sorted(choice.sample(spans, 2))
    return text if c < b else text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _statements(text: str) -> list[tuple[int, int, str]]:
    """The rows of statements, from 0, that have their lines to themselves, with their indentation."""
    tree, lines = _parsed(text), text.splitlines(keepends=True)
    found = []
    for node in ast.walk(tree) if tree is not None and "\x0c" not in text else ():
        if isinstance(node, ast.stmt) and node.end_lineno is not None and node.end_lineno <= len(lines):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) - 1
            indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
            found.append((first, node.end_lineno, indent))
    return sorted(set(found))


def _at_a_statement(text: str, choice: random.Random, make: Callable[[list[str], str], list[str]]) -> str:
    """The text with the lines of one statement replaced by those that are made of them and of their indentation."""
    statements = _statements(text)
    if not statements:
        return text
    first, last, indent = choice.choice(statements)
    lines = text.splitlines(keepends=True)
    own = [line if line.endswith("\n") else f"{line}\n" for line in lines[first:last]]
    return "".join([*lines[:first], *make(own, indent), *lines[last:]])


def _around_statement(text: str, _: str, choice: random.Random) -> str:
    head = choice.choice(AROUND_STATEMENT).split("\n")
    deeper = "        " if head[-1].startswith(" ") else "    "

    def make(own: list[str], indent: str) -> list[str]:
        return [*(f"{indent}{line}\n" for line in head), *(deeper + line for line in own)]

    return _at_a_statement(text, choice, make)


def _without_statement(text: str, _: str, choice: random.Random) -> str:
    return _at_a_statement(text, choice, lambda _, indent: [f"{indent}pass\n"])


def _statement_twice(text: str, _: str, choice: random.Random) -> str:
    return _at_a_statement(text, choice, lambda own, _: [*own, *own])


def _other_statement(text: str, donor: str, choice: random.Random) -> str:
    others = _statements(donor)
    if not others:
        return text
    first, last, indent = choice.choice(others)
    taken = [line.removeprefix(indent) for line in donor.splitlines(keepends=True)[first:last]]
    taken = [line if line.endswith("\n") else f"{line}\n" for line in taken]
    before = choice.random() < 0.5

    def make(own: list[str], indent: str) -> list[str]:
        indented = [indent + line for line in taken]
        return [*indented, *own] if before else [*own, *indented]

    return _at_a_statement(text, choice, make)


def _other_name(text: str, _: str, choice: random.Random) -> str:
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", text)))
    if len(names) < 2:
        return text
    old, new = choice.sample(names, 2)
    return re.sub(rf"\b{old}\b", new, text, count=choice.choice((0, 1)))


def _other_end(text: str, _: str, choice: random.Random) -> str:
    lines = text.split("\n")
    row = choice.randrange(len(lines))
    lines[row] += choice.choice(ENDS)
    return "\n".join(lines)


def _broken_chain(text: str, _: str, choice: random.Random) -> str:
    """The calls stand one a line, as a formatter breaks a chain that is in brackets."""
    dots = [match.start() for match in re.finditer(r"\.(?:numpy|cpu|detach|data)\b", text)]
    if not dots:
        return text
    at = choice.choice(dots)
    return text[:at] + choice.choice((" \\\n        ", "\n        ", "  # why\n    ", " ")) + text[at:]


def _broken(text: str, choice: random.Random) -> str:
    at = choice.randrange(len(text) + 1)
    return text[:at] + choice.choice(CHARACTERS) + text[at + choice.choice((0, 0, 1, 20)) :]


_CHANGES = (
    *[_around_expression] * 4,
    *[_around_statement] * 2,
    _other_expression,
    _swapped_expressions,
    _other_statement,
    _without_statement,
    _statement_twice,
    _other_name,
    _other_end,
    _broken_chain,
)


# what must hold


def examine(text: str, number: int) -> Examined:
    """What does not hold for a program, with settings that the number chooses."""
    begun = time.process_time()
    traits: set[str] = set() if _parsed(text) is None else {"parsed"}
    try:
        flaws = list(_flaws(text, settings_for(number), traits))
    except Exception as error:
        flaws = [Flaw(f"{type(error).__name__} at {_place(error)}", traceback.format_exc())]
    seconds = time.process_time() - begun
    if seconds > SLOW:
        flaws.append(Flaw("slow", f"{seconds:.0f} seconds"))
    return Examined(flaws, traits)


def settings_for(number: int) -> Settings:
    return Settings(
        select=("ALL",) if number % 8 == 0 else ("TNP1", "TNP2", "TNP3"),  # ALL asks twice, for comments
        style=STYLES[number // 4 % 5 == 0],
        confidence=CONFIDENCES[number // 4 % 3],
    )


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.name}"


def _flaws(text: str, settings: Settings, traits: set[str]) -> Iterator[Flaw]:
    try:
        source, found = _checked(text, "program.py", settings)
    except SourceError as error:
        if "bug in tonumpy" in error.reason or "internal error" in error.reason:
            yield Flaw("refused", str(error))
        elif "parsed" in traits:
            yield Flaw("does not parse what Python parses", str(error))
        return
    with contextlib.suppress(SourceError):  # `why` looks at more than `check`, and may find what cannot be parsed
        yield from _flaws_of_why(source, found, settings)
    try:
        fixed = fix(source, settings, Project(), unsafe=True)
    except SourceError as error:
        if "parsed" in traits:  # else something that no conversion depends on, which only a repair looks at
            yield Flaw("not rewritten", str(error))
        return
    traits |= {name for name, seen in (("found", found), ("repaired", fixed.applied)) if seen}
    yield from _flaws_of_fix(text, fixed, settings)
    cells = _cells_of(text)
    if cells is not None:
        traits.add("notebook")
        yield from _flaws_of_notebook(cells, settings)


def _checked(data: str, filename: str, settings: Settings) -> tuple[Source, list[Finding]]:
    source = source_of(data, filename)
    return source, suppress(source, check(source, settings, Project()))


def _said(finding: Finding) -> tuple[object, ...]:
    """All but places, which in a notebook are others."""
    fix = finding.fix and (finding.fix.applicability, finding.fix.message)
    return finding.code, finding.message, finding.confidence, fix


def _flaws_of_why(source: Source, found: list[Finding], settings: Settings) -> Iterator[Flaw]:
    of_conversions = [each for each in found if not each.code.startswith("TNP9")]
    for finding in of_conversions[:1]:
        explained = explain(source, settings, Project(), finding.start.row)
        shown = [(each.code, each.start) for explanation in explained for each in explanation.findings]
        if (finding.code, finding.start) not in shown:
            yield Flaw("why does not know what check reports", finding.place)
    rows = [row for row, line in enumerate(source.text.splitlines(), 1) if "numpy" in line]
    for row in rows[-1:]:
        explain(source, settings, Project(), row)


def _flaws_of_fix(text: str, fixed: Fixed, settings: Settings) -> Iterator[Flaw]:
    if not fixed.is_settled:
        yield Flaw("does not settle", fixed.text)
    if not fixed.applied:
        if fixed.text != text:
            yield Flaw("changed without a repair", fixed.text)
        return
    before, after = _parsed(text), _parsed(fixed.text)
    if before is not None and after is None:
        yield Flaw("does not parse after the fix", fixed.text)
        return
    again = fix(source_of(fixed.text, "program.py"), settings, Project(), unsafe=True)
    if again.text != fixed.text:
        yield Flaw("a second fix changes something", again.text)
    if again.remaining != fixed.remaining:
        yield Flaw("another answer after the fix", f"{fixed.remaining}\n{again.remaining}")
    if any(each.fix and each.fix.applicability != "display-only" for each in again.remaining):
        yield Flaw("a repair is left after the fix", "\n".join(each.place for each in again.remaining))
    if before is not None and after is not None and _erased(before) != _erased(after):
        yield Flaw("the tree differs outside of conversions", fixed.text)
    of_comments = any(finding.code.startswith("TNP9") for finding in fixed.applied)
    if not of_comments and _comments(text) != _comments(fixed.text):
        yield Flaw("a comment was lost", fixed.text)


_LINKS = frozenset(
    "detach cpu to_dense dequantize float cfloat resolve_conj resolve_neg copy clone numpy item tolist".split()
)
_COPIES = ("to", "copy_", "type")  # whose flag `non_blocking` goes, by its name or by its place
_UFUNCS = re.compile(r"is\w+|signbit|(not_)?equal|eq|ne|(greater|less)(_equal)?|logical_\w+")


class _Eraser(ast.NodeTransformer):
    """Takes every link of a conversion out of a tree, old or new."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        node.keywords = [each for each in node.keywords if each.arg != "non_blocking"]
        if name in _COPIES and node.args and isinstance(getattr(node.args[-1], "value", None), bool):
            del node.args[-1]
        if _UFUNCS.fullmatch(name):  # NumPy's for torch's
            node.func = ast.Name({"equal": "eq", "not_equal": "ne"}.get(name, name))
        is_link = isinstance(node.func, ast.Attribute) and node.func.attr in _LINKS and not node.args
        return node.func.value if is_link and all(each.arg == "force" for each in node.keywords) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node


def _erased(tree: ast.Module) -> str:
    return ast.dump(_Eraser().visit(tree))


def _comments(text: str) -> list[str] | None:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(re.sub("\r\n?", "\n", text)).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def notebook_of(cells: Sequence[str]) -> str:
    rest = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made = [rest | {"source": cell} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _cells_of(text: str) -> list[str] | None:
    """The statements of a module as cells, three a cell; None where a cell would not mean what the module does."""
    tree = _parsed(text)
    if tree is None or re.search(r"^[ \t]*[%!?\\]|\?[ \t]*$", text, re.MULTILINE):
        return None
    lines = text.splitlines(keepends=True)
    if "\r" in text or len(lines) != text.count("\n") + (not text.endswith("\n")):
        return None
    spans = [(each.lineno, each.end_lineno or 0) for each in tree.body]
    ends = [end for _, end in spans[2::3] if sum(first <= end <= last for first, last in spans) == 1][:-1]
    bounds = [0, *sorted(set(ends)), len(lines)]
    return ["".join(lines[first:last]).removesuffix("\n") for first, last in itertools.pairwise(bounds)]


def _flaws_of_notebook(cells: Sequence[str], settings: Settings) -> Iterator[Flaw]:
    """A notebook is believed more than a module, so it is held to itself alone."""
    source, _ = _checked(notebook_of(cells), "program.ipynb", settings)
    after = fix(source, settings, Project(), unsafe=True)
    if fix(source_of(after.text, "program.ipynb"), settings, Project(), unsafe=True).text != after.text:
        yield Flaw("a second fix of a notebook changes something", after.text)
    before, repaired = _parsed("\n".join(cells)), _parsed(_text_of(after.text))
    if before is not None and (repaired is None or _erased(before) != _erased(repaired)):
        yield Flaw("the tree of a notebook differs outside of conversions", after.text)


def _text_of(document: str) -> str:
    return "\n".join(cell["source"] for cell in json.loads(document)["cells"])
