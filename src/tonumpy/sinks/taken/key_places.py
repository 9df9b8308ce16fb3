"""From a source to the rows in which what may be a tensor is a key, or is looked for among keys.

By spelling alone, before anything is parsed. The patterns begin with plain characters, which `re` skips to: a text is
gone through a good ten times as fast as with one that begins with a word.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.source import Source

METHODS_OF_KEYS = ("get", "setdefault", "pop", "add", "discard")
# Loops over what gives numbers or names.
PLAIN_LOOPS = ("named_", ".items(", ".keys(", "parameters(", ".values(", "tolist(", "state_dict", ".numpy(", "range(")

# A loop over a tensor, whose items may be keys.
_LOOP = re.compile(r"for(?<!\wfor)[ \t]+([\w, \t()]+?)[ \t]+in[ \t]+(?!range\b|os\b|sorted\b)([^\n:]*)")
# What may be a number of a tensor: `best = scores.argmax()`, `label = labels[at]`; and what it is given to.
_NUMBER = re.compile(r"\.arg(?:max|min)\(|\[\w+\][ \t]*(?=#|\n|\Z)")
_GIVEN_TO = re.compile(r"[ \t]*(?:\w+[ \t]*,[ \t]*)*(\w+)[ \t]*=[ \t]*[\w.]+(.*)")
_NUMBERS = re.compile(r"item\(|tolist\(|int\(")
# What callers may give: `def remember(seen, label):`, but for what is declared to be something else.
_PARAMETERS = re.compile(r"def(?<!\wdef)[ \t]+\w+\(([^)]*)\)")
_PARAMETER = re.compile(r"(?:^|,)[ \t\n]*(\w+)[ \t]*(?=,|$|:[^,]*Tensor)")
# What may be a key of several parts: `key = (label, guess)`.
_PAIR = re.compile(r"=[ \t]*\(?((?:\w+[ \t]*,[ \t]*)+\w+)\)?[ \t]*$", re.MULTILINE)
_NAME_GIVEN = re.compile(r"[ \t]*(\w+)[ \t]*")
_NO_KEYS = frozenset("_ name key epoch step self param module int float str bool".split())

_PARTS = r"(?:[^()\[\]\n]|\([^()\n]*\))*"  # of a tuple: `label, guess.item()`
_TUPLE = rf"\({_PARTS}\)"
# Where a name is a key, or is looked for: behind what holds it, but for `label in seen`.
_SOUGHT = re.compile(rf"(?<!\w)(?:if|and|or|not|return)[ \t]+(\w+|{_TUPLE})(?:[ \t]+not)?[ \t]+$")
_AMONG = re.compile(r"[ \t]*(?:\w+\.)*(\w*)")
_INDEXED = re.compile(rf"\[(?<=[\w)\]]\[)(?:({_TUPLE}|{_PARTS})\][ \t]*[-+]?=(?!=)|\(?(\w+), )")
_ASKED = re.compile(rf"\.(?:{'|'.join(METHODS_OF_KEYS)})\((\w+\b|{_TUPLE})")
_READ = re.compile(r"\[(\w+)\]")
# `held = `, and `self.hits, self.last = {}, `, all of whose names may be such.
_OF_DEFAULTS = re.compile(r"(?<!\w)((?:\w+[ \t]*,[ \t]*(?:\w+\.)*)*\w+)[ \t]*(?::[^=\n]*)?=[^=\n]*$")
_GIVEN = re.compile(r"[ \t]*(?::[^=\n]*)?=(?!=)[ \t]*([\w.\[({]*)")  # to a name that stands before
_LAST_WORD = re.compile(r"\w*$")
_WORD = re.compile(r"\w+")
_LONGEST_WORD = 100
_LONGEST_LINE = 500  # a line of data may have a million characters, and a thousand places to look at
# What is given to that which is no dict or set: `panoptic = torch.zeros(3)`.
_NO_HOLDERS = ("[", "torch.", "np.", "numpy.", "list(")


def rows_of_keys(source: Source) -> set[int]:
    """Where what a loop goes through, a part or the place of a maximum is a key, or is looked for."""
    names, text = _names_of_keys(source.text), source.text
    if not names:
        return set()
    holds_none = cache(partial(_holds_no_keys, text))
    places = [place for place, key, holder in _keys(text) if _is_one_of(names, key) and not holds_none(holder)]
    for held in dicts_of_defaults(source):
        reads = ((at, _READ.match(text, at + len(held))) for at in places_of(held, text))
        places += [at for at, match in reads if match and match[1] in names and not _word_before(text, at)]
    return {source.position_at(place).row for place in places}


def dicts_of_defaults(source: Source) -> set[str]:
    """The names, and attributes, of dicts whose items are made where one is read: equal keys have an item each."""
    text = source.text
    before = (_line_before(text, at) for at in places_of("defaultdict(", text))
    given = (match[1] for line in before if (match := _OF_DEFAULTS.search(line)))
    return {name.rpartition(".")[2] for names in given for name in re.split(r"[ \t]*,[ \t]*", names)}


def _keys(text: str) -> Iterator[tuple[int, str, str]]:
    """Where something is a key or is looked for, what that is, and the last name of what holds it, if any."""
    for at in places_of("in ", text):
        if text[at - 1] in " \t" and (sought := _SOUGHT.search(_line_before(text, at))):
            among = _AMONG.match(text, at + len("in "))
            yield at, sought[1], among[1] if among else ""
    for match in _INDEXED.finditer(text):
        yield match.start(), match[1] or match[2] or "", _word_before(text, match.start())
    for match in _ASKED.finditer(text):
        yield match.start(), match[1], _word_before(text, match.start())


def _is_one_of(names: set[str], key: str) -> bool:
    """Whether a name is a key or a part of it: not of a text that is put together, nor of a slice."""
    is_text = ("'" in key or '"' in key) and "," not in key
    return not is_text and ":" not in key and not names.isdisjoint(_WORD.findall(key))


def _holds_no_keys(text: str, name: str) -> bool:
    """Whether all that a name is given, here or there, begins as what holds no keys."""
    if not name:
        return False
    given = [
        match[1]
        for at in places_of(name, text)
        if (match := _GIVEN.match(text, at + len(name))) and not _word_before(text, at)
    ]
    return bool(given) and all(each.startswith(_NO_HOLDERS) for each in given)


def _names_of_keys(text: str) -> set[str]:
    """The names that loops bind, or that are given a number of a tensor, and those of pairs that are made of these."""
    asked, names = set(_NO_KEYS), set()
    for match in _NUMBER.finditer(text):
        line = _line_before(text, match.start())
        given = _GIVEN_TO.fullmatch(line)
        if given and not (match[0][0] == "[" and given[2]) and not _NUMBERS.search(line):
            names.add(given[1])
    names.update(name for match in _PARAMETERS.finditer(text) for name in _PARAMETER.findall(match[1]))
    for match in _LOOP.finditer(text):
        if not any(word in match[2] for word in PLAIN_LOOPS):
            bound = _WORD.findall(match[1])[match[2].startswith("enumerate(") :]  # without the number
            names.update(bound)
            # What is asked for what it gives is a dict: `for key in held: held[key]`.
            asked.update(name for name in bound if f"{match[2]}[{name}]" in text)
    names -= asked
    pairs = _PAIR.finditer(text) if names else ()
    made = (match.start() for match in pairs if names.intersection(_WORD.findall(match[1])))
    return names | {given[1] for at in made if (given := _NAME_GIVEN.fullmatch(_line_before(text, at)))}


def places_of(words: str, text: str) -> Iterator[int]:
    """Where words stand in a text, as parts of others, too."""
    at = text.find(words)
    while at != -1:
        yield at
        at = text.find(words, at + len(words))


def _line_before(text: str, at: int) -> str:
    first = max(0, at - _LONGEST_LINE)
    return text[max(first, text.rfind("\n", first, at) + 1) : at]


def _word_before(text: str, at: int) -> str:
    found = _LAST_WORD.search(text, max(0, at - _LONGEST_WORD), at)
    return found[0] if found else ""
