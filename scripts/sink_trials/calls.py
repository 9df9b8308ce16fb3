"""Finds calls of a function, from its signature or docstring, that work with an array at one argument or more."""

from __future__ import annotations

import ast
import heapq
import inspect
import itertools
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from sink_trials.values import ARRAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Run = Callable[["Call"], bool]  # whether a call works with arrays

MAX_TRIALS = 160
SECONDS = 3.0  # of search, of the processor
MAX_CALLS = 3  # that are measured, of those that work
_MAX_OPTIONAL = 14  # parameters with a default that are tried
# Those that are tried first: traces of plotly have seventy parameters in the order of the alphabet.
_DATA = frozenset("data x y z values lat lon theta a b c i j k u v w open high low close".split())
# Where the result goes, where nobody puts a tensor, and what an array stands for by its dtype.
_NOT_TRIED = ("out", "like", "dst", "dtype")


class Call(NamedTuple):
    """Arguments as texts: letters of arrays, or what is no array."""

    positional: tuple[str, ...]
    named: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Call:
        node = ast.parse(f"f{text}", mode="eval").body
        assert isinstance(node, ast.Call)
        named = tuple((str(each.arg), ast.unparse(each.value)) for each in node.keywords)
        return cls(tuple(map(ast.unparse, node.args)), named)

    def __str__(self) -> str:
        return f"({', '.join([*self.positional, *(f'{name}={value}' for name, value in self.named)])})"

    @property
    def slots(self) -> list[int | str]:
        """The arguments that are arrays."""
        places: list[tuple[int | str, str]] = [*enumerate(self.positional), *self.named]
        return [place for place, text in places if text in ARRAYS]

    @property
    def arrays(self) -> tuple[str, ...]:
        """The letters of the arrays."""
        return tuple(map(self.text_at, self.slots))

    def text_at(self, slot: int | str) -> str:
        return self.positional[slot] if isinstance(slot, int) else dict(self.named)[slot]


class Parameter(NamedTuple):
    name: str
    kind: inspect._ParameterKind
    is_required: bool


_ONE = inspect.Parameter.POSITIONAL_OR_KEYWORD
_POSITIONAL = (_ONE, inspect.Parameter.POSITIONAL_ONLY)
_NAMED = (_ONE, inspect.Parameter.KEYWORD_ONLY)
_OF_DOCSTRING = re.compile(r"^\s*(?:[\w.]+ *= *)?[\w.]+\(([^()]*(?:\([^()]*\)[^()]*)*)\)", flags=re.MULTILINE)


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    try:
        found = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return _documented(function)
    return [Parameter(each.name, each.kind, each.default is each.empty) for each in found]


def _documented(function: Callable[..., Any]) -> list[Parameter]:
    """Read the first line of a docstring: `resize(src, dsize[, dst[, fx]]) -> dst`."""
    match = _OF_DOCSTRING.search(getattr(function, "__doc__", None) or "")
    if match is None:
        return [Parameter("x", inspect.Parameter.POSITIONAL_ONLY, True)]
    found, kind, is_required = [], _ONE, True
    for part in re.findall(r"[\[\]*/]|[\w.]+ *(?::[^,=\[\]]*)?(?:=[^,\[\]]*)?", match[1]):
        name = re.match(r"\w+", part)
        if part == "[":
            is_required = False
        elif part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name is not None and not name[0].isdigit() and name[0] != "self":
            found.append(Parameter(name[0], kind, is_required and "=" not in part))
    return found or [Parameter("x", inspect.Parameter.POSITIONAL_ONLY, True)]


# What parameters are given by their names, before arrays are tried or in place of them.
_BY_NAME = [
    (r"f|fp|file|fid|fname|filename|filepath|path|uri|file_name|path_or_buf\w*|fileobj", "file png gif wav"),
    (r"pt\d|org", "(2,2)"),
    (r"center", "(2,2) e"),
    (r"xy\w*|pos[AB]|point", "e h"),
    (r"verts\w*|segments|polygons", "o h"),
    (r"width|height|dx|dy|theta[12]|r", "s 2 0.5"),
    (r"color", "(1,1,1)"),
    (r"M|transform", "a m"),
    (r"fontFace|fontScale|thickness|\w*code|flags?|ddepth|contourIdx", "1 0 6"),
    (r"fileobj|handle|stream", "handle file"),
    (r"bins|xp", "r"),
    (r"func|function|fun|callable|f|func1d|key_func|callback", "function identity"),
    (r"\w*shape|\w*size|\w*sz|dims|reps|pad_width|target_size", "(4,4) 3 (2,3) 2"),
    (r"axis|axes|dim|axis\d|dimension|source|destination|start", "0 1"),
    (r"\w*dtype|typ", "'float32'"),
    (r"mode|method|kind|how|name|title|text|\w*label|tag|s|key|column|field\w*|fmt|format|columns", "'a' 'same'"),
    (r"sr|fs|sample_rate|samplerate|rate|sampling_rate|orig_sr|target_sr", "16000 8000"),
    (r"n|k|num|\w*order|deg\w*|N|M|n_\w+|num_\w+|sigma\w*|window\w*|indices\w*|level|radius|\w*step|d", "2 1 3 0.5"),
    (r"q|alpha|p|scale|factor|thresh\w*|eps\w*|maxval|angle|rotation_angle", "0.5 2 50"),
    (r"y|y_true|labels?\w*|target\w*|classes|group\w*|cluster\w*|labels_true|labels_pred|y_pred", "ARRAYS"),
    (r"y_score|y_prob\w*|y_proba", "ARRAYS"),
]
_PATTERNS = [(re.compile(f"(?:{names})\\Z"), texts.split()) for names, texts in _BY_NAME]
_ARRAYS_FIRST = "v m p u x g c i s t".split()
_OTHERS = ["2", "0.5", "'a'", "(4,4)"]
_TOGETHER = [  # for two parameters or more, in turn
    *(("v", "v"), ("m", "m"), ("m", "l"), ("m", "r"), ("x", "y"), ("b", "v"), ("i", "i"), ("b", "b"), ("c", "k")),
    *(("p", "p"), ("u", "u"), ("g", "g"), ("x", "x"), ("c", "c"), ("m", "v"), ("v", "i"), ("m", "i"), ("t", "t")),
    *(("c", "m"), ("v", "m"), ("y", "y"), ("s", "s"), ("e", "e")),
]


def _candidates(name: str, position: int) -> list[str]:
    for pattern, texts in _PATTERNS:
        if pattern.match(name):
            arrays = _ARRAYS_FIRST[:6] if position == 0 else ["v", "i", "m"]
            named = [text for text in texts if text != "ARRAYS"]
            return [*named, *arrays] if named else ["l", "b", "v", "i", "y", "r", *arrays]
    return [*_ARRAYS_FIRST, *_OTHERS]


def _given(call: Call, parameters: list[Parameter]) -> set[str]:
    """The names of the parameters that a call gives something."""
    return {name for name, _ in call.named} | {each.name for each in parameters[: len(call.positional)]}


def with_options(call: Call, parameters: list[Parameter]) -> Iterator[Call]:
    """The call with one option more: the first two of what is no array, and True."""
    given = _given(call, parameters)
    for each in parameters[: len(call.positional) + _MAX_OPTIONAL]:
        if not each.is_required and each.kind in _NAMED and each.name not in given:
            texts = [text for text in _candidates(each.name, 1) if text not in ARRAYS][:2]
            for text in (*texts, "True"):
                yield Call(call.positional, (*call.named, (each.name, text)))


def bases_of(parameters: list[Parameter]) -> Iterator[Call]:
    """Return what all required parameters are given, the likeliest first."""
    required, by_name = _required(parameters, _POSITIONAL), _required(parameters, (inspect.Parameter.KEYWORD_ONLY,))
    if not required and not by_name:
        yield Call(())
        # One of the options must be given.
        if parameters[0].kind in _POSITIONAL:
            yield from _OF_ONE
        elif parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
            yield from (Call((), ((parameters[0].name, text),)) for text in _ARRAYS_FIRST)
    if len(required) + len(by_name) > 5:
        return
    if has_star(parameters) and not required:
        yield from (*_OF_ONE, *map(Call, _TOGETHER))
        return
    candidates = [_candidates(name, position) for position, name in enumerate((*required, *by_name))]
    for texts in _in_order(candidates):
        yield Call(texts[: len(required)], tuple(zip(by_name, texts[len(required) :], strict=True)))


_OF_ONE = [Call((text,)) for text in _ARRAYS_FIRST]


def _required(parameters: list[Parameter], kinds: tuple[inspect._ParameterKind, ...]) -> list[str]:
    return [each.name for each in parameters if each.is_required and each.kind in kinds]


def has_star(parameters: list[Parameter]) -> bool:
    """True for a function with `*args`."""
    return any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)


def _in_order(candidates: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield those that go together, then all products, the earlier ones of each first."""
    seen = set(together := list(_going_together(candidates)))
    yield from together
    heap = [(0, (0,) * len(candidates))] if candidates else []
    known = set()
    while heap:
        cost, ranks = heapq.heappop(heap)
        texts = tuple(each[rank] for each, rank in zip(candidates, ranks, strict=True))
        if texts not in seen:
            yield texts
        for number, rank in enumerate(ranks):
            further = (*ranks[:number], rank + 1, *ranks[number + 1 :])
            if rank + 1 < len(candidates[number]) and further not in known:
                known.add(further)
                heapq.heappush(heap, (cost + 1 + (rank > 4), further))


def _going_together(candidates: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """Two arrays or more that go together, beside the first texts of what is no array."""
    open_ones = [number for number, texts in enumerate(candidates) if texts[0] in ARRAYS]
    closed = [number for number in range(len(candidates)) if number not in open_ones]
    for pair in _TOGETHER if len(open_ones) > 1 else ():
        products = itertools.product(*(candidates[number][:2] for number in closed))
        for others in itertools.islice(products, 4):
            texts = dict(zip(closed, others, strict=True))
            texts |= {each: pair[min(number, 1)] for number, each in enumerate(open_ones)}
            yield tuple(texts[number] for number in range(len(candidates)))


def calls_of(function: Callable[..., Any], works: Run) -> list[Call]:
    """Calls that work, each with an array: of all required parameters, then of each other parameter beside these."""
    parameters = parameters_of(function)
    if not parameters or [each.kind for each in parameters] == [inspect.Parameter.VAR_KEYWORD]:
        return []
    end = time.process_time() + SECONDS
    found, bare = _bases_that_work(parameters, works, end)
    if found and all(each.is_required or each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return found
    for call in _with_optional(found[0] if found else bare, parameters, works):
        found.append(call)
        if time.process_time() > end + SECONDS:
            break
    return found


def _bases_that_work(parameters: list[Parameter], works: Run, end: float) -> tuple[list[Call], Call | None]:
    """Calls of the required parameters with an array, and one without, that work."""
    found: list[Call] = []
    bare = None
    for call in itertools.islice(bases_of(parameters), MAX_TRIALS):
        if len(found) >= MAX_CALLS or time.process_time() > end:
            break
        if (call.slots and call.arrays in [each.arrays for each in found]) or not works(call):
            continue
        if call.slots:
            found.append(call)
        elif call == Call(()):
            bare = call
            if not has_star(parameters):
                break
        else:
            bare = bare or call
    return found, bare


def _with_optional(base: Call | None, parameters: list[Parameter], works: Run) -> Iterator[Call]:
    """An array at one more parameter each; at two at once where nothing is required (`seaborn.lineplot(x=, y=)`)."""
    if base is None:
        return
    yield from filter(works, _with_more(base, parameters))
    given = _given(base, parameters) | {*_NOT_TRIED}
    optional = [each.name for each in parameters if each.kind in _NAMED and each.name not in given]
    optional = sorted(optional, key=lambda name: name not in _DATA)[:_MAX_OPTIONAL]
    letters = _letters_beside(base)
    lonely = []
    for name in optional:
        calls = (Call(base.positional, (*base.named, (name, text))) for text in letters)
        working = next(filter(works, calls), None)
        if working is None:
            lonely.append(name)
        else:
            yield working
    names = [name for name in optional[:6] if name in lonely or name in ("x", "y", "z")]
    for two in itertools.combinations(names if not base.slots else (), 2):
        calls = (Call(base.positional, (*base.named, *zip(two, pair, strict=True))) for pair in _TOGETHER[:5])
        yield from itertools.islice(filter(works, calls), 1)


def _letters_beside(base: Call) -> list[str]:
    """The arrays that are tried at one more parameter, the likeliest first."""
    near = base.arrays[:1]
    beside = {"m": "lr", "x": "y"}.get(near[0], "") if near else ""
    return list(dict.fromkeys([*near, *beside, *"vmsuixgpc"]))[: 6 if near else 9]


def _with_more(base: Call, parameters: list[Parameter]) -> Iterator[Call]:
    """The call with its first array at the optional parameters behind it, too, that have no names."""
    behind = [each for each in parameters[len(base.positional) :] if each.kind is inspect.Parameter.POSITIONAL_ONLY]
    if base.slots and behind and behind[0].name not in _NOT_TRIED:
        for count in range(1, len(behind) + 1):
            yield Call((*base.positional, *base.arrays[:1] * count))
