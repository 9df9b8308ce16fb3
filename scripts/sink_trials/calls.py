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

    def text_at(self, slot: int | str) -> str:
        return self.positional[slot] if isinstance(slot, int) else dict(self.named)[slot]


class Parameter(NamedTuple):
    name: str
    kind: inspect._ParameterKind
    is_required: bool


_ONE = inspect.Parameter.POSITIONAL_OR_KEYWORD
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


def with_options(call: Call, parameters: list[Parameter]) -> Iterator[Call]:
    """The call with one option more: the first two of what is no array, and True."""
    given = {name for name, _ in call.named} | {each.name for each in parameters[: len(call.positional)]}
    for each in parameters[: len(call.positional) + _MAX_OPTIONAL]:
        if not each.is_required and each.kind in (_ONE, inspect.Parameter.KEYWORD_ONLY) and each.name not in given:
            texts = [text for text in _candidates(each.name, 1) if text not in ARRAYS][:2]
            for text in (*texts, "True"):
                yield Call(call.positional, (*call.named, (each.name, text)))


def bases_of(parameters: list[Parameter]) -> Iterator[Call]:
    """Return what all required parameters are given, the likeliest first."""
    kinds = (_ONE, inspect.Parameter.POSITIONAL_ONLY)
    required = [each for each in parameters if each.is_required and each.kind in kinds]
    by_name = [each for each in parameters if each.is_required and each.kind is inspect.Parameter.KEYWORD_ONLY]
    has_star = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    names = [each.name for each in (*required, *by_name)]
    if not names:
        yield Call(())
        # One of the options must be given.
        if parameters[0].kind in kinds:
            yield from (Call((text,)) for text in _ARRAYS_FIRST)
        elif parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
            yield from (Call((), ((parameters[0].name, text),)) for text in _ARRAYS_FIRST)
    if len(names) > 5:
        return
    if has_star and not required:
        yield from (Call((text,)) for text in _ARRAYS_FIRST)
        yield from (Call(pair) for pair in _TOGETHER)
        return
    candidates = [_candidates(name, position) for position, name in enumerate(names)]
    for texts in _in_order(candidates):
        named = zip((each.name for each in by_name), texts[len(required) :], strict=True)
        yield Call(texts[: len(required)], tuple(named))


def _in_order(candidates: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield those that go together, then all products, the earlier ones of each first."""
    open_ones = [number for number, texts in enumerate(candidates) if texts[0] in ARRAYS]
    fixed = [texts[0] for texts in candidates]
    seen = set()
    for pair in _TOGETHER if len(open_ones) > 1 else ():
        products = itertools.product(*(texts[:2] for texts in candidates if texts[0] not in ARRAYS))
        for others in itertools.islice(products, 4):
            texts = list(fixed)
            for number, each in enumerate(open_ones):
                texts[each] = pair[min(number, 1)]
            for each, text in zip((n for n in range(len(texts)) if n not in open_ones), others, strict=True):
                texts[each] = text
            seen.add(tuple(texts))
            yield tuple(texts)
    heap = [(0, (0,) * len(candidates))] if candidates else []
    known = set()
    while heap:
        cost, ranks = heapq.heappop(heap)
        texts = [each[rank] for each, rank in zip(candidates, ranks, strict=True)]
        if tuple(texts) not in seen:
            yield tuple(texts)
        for number, rank in enumerate(ranks):
            further = (*ranks[:number], rank + 1, *ranks[number + 1 :])
            if rank + 1 < len(candidates[number]) and further not in known:
                known.add(further)
                heapq.heappush(heap, (cost + 1 + (rank > 4), further))


def calls_of(function: Callable[..., Any], works: Run) -> list[Call]:
    """Calls that work, each with an array: of all required parameters, then of each other parameter beside these."""
    parameters = parameters_of(function)
    if not parameters or [each.kind for each in parameters] == [inspect.Parameter.VAR_KEYWORD]:
        return []
    found: list[Call] = []
    bare = None
    trials, end = 0, time.process_time() + SECONDS
    for call in bases_of(parameters):
        if trials >= MAX_TRIALS or len(found) >= MAX_CALLS or time.process_time() > end:
            break
        trials += 1
        kinds = [tuple(each.text_at(slot) for slot in each.slots) for each in found]
        if call.slots and tuple(call.text_at(slot) for slot in call.slots) in kinds:
            continue
        if works(call):
            if call.slots:
                found.append(call)
            elif not call.positional and not call.named:
                bare = call
                if all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in parameters):
                    break
            else:
                bare = bare or call
    if found and all(each.is_required or each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return found
    for call in _with_optional(found[0] if found else bare, parameters, works):
        found.append(call)
        if time.process_time() > end + SECONDS:
            break
    return found


def _with_optional(base: Call | None, parameters: list[Parameter], works: Run) -> Iterator[Call]:
    """An array at one more parameter each; at two at once where nothing is required (`seaborn.lineplot(x=, y=)`)."""
    if base is None:
        return
    given = {name for name, _ in base.named} | {each.name for each in parameters[: len(base.positional)]}
    given |= {*_NOT_TRIED}
    behind = [each for each in parameters[len(base.positional) :] if each.kind is inspect.Parameter.POSITIONAL_ONLY]
    for count in range(1, len(behind) + 1 if base.slots and behind and behind[0].name not in _NOT_TRIED else 0):
        call = Call((*base.positional, *[base.text_at(base.slots[0])] * count))
        if works(call):
            yield call
    kinds = (_ONE, inspect.Parameter.KEYWORD_ONLY)
    optional = [each.name for each in parameters if each.kind in kinds and each.name not in given]
    optional = sorted(optional, key=lambda name: name not in _DATA)[:_MAX_OPTIONAL]
    near = [base.text_at(slot) for slot in base.slots[:1]]
    letters = list(dict.fromkeys([*near, *({"m": "lr", "x": "y"}.get(near[0], "") if near else ""), *"vmsuixgpc"]))
    lonely = []
    for name in optional:
        calls = (Call(base.positional, (*base.named, (name, text))) for text in letters[: 6 if near else 9])
        working = next((call for call in calls if works(call)), None)
        if working is None:
            lonely.append(name)
        else:
            yield working
    if not base.slots:
        names = [name for name in optional[:6] if name in lonely or name in ("x", "y", "z")]
        for one, other in itertools.combinations(names, 2):
            for pair in _TOGETHER[:5]:
                call = Call(base.positional, (*base.named, (one, pair[0]), (other, pair[1])))
                if works(call):
                    yield call
                    break
