"""Whether an index of an array is a tensor of one element, which NumPy takes for an integer: the result loses an axis.

A model that is given one row gives one of numbers, or more: a row is believed where what is indexed holds names of
classes, or where the file speaks of no layers that keep places.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.syntax_lowering import stored_in
from tonumpy.sinks.shapes import may_be_a_tensor_or_mask
from tonumpy.sinks.sizes.shape_of import Shapes
from tonumpy.sinks.sizes.shapes_known import One
from tonumpy.text.names import last_name
from tonumpy.text.syntax import own_expressions, walk

if TYPE_CHECKING:
    from tonumpy.sinks.sizes.shapes_known import Shape
    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

# Without these nothing is known to have one element.
_WORDS = re.compile(
    r"unsqueeze\(|None[\],]|newaxis|expand_dims|topk\(|keepdim|multinomial\(|:[ ]*1\]|-1:\]|\+ ?1\]|DataLoader\("
    r"|ensor\(\[|view\(1|reshape\(1|\(1,\)|array\(\[|(?:zeros|ones|randn?|empty)\(1,"
)
_NAMES = re.compile(r"name|class|label|categor|word|vocab|tag|species|token", re.IGNORECASE)
_OF_SEQUENCES = re.compile(r"Embedding|LSTM|GRU|RNN|Transformer|[Aa]ttention|tokenizer|input_ids")
_OF_PLACES = re.compile(r"Conv\dd|ConvTranspose|[Uu][Nn]et|segment|interpolate|Upsample")
_LINEAR = "Linear"


class Singles:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._shapes = Shapes(source) if _WORDS.search(source.text) else None

    def holds(self, index: ast.expr, array: ast.expr, site: OperationSite) -> bool:
        """Whether an index has one element, and is no number, as far as the function at hand tells."""
        if self._shapes is None or not may_be_a_tensor_or_mask(index):
            return False
        shape = self._shapes.shape_of(index, site.statement, site.scopes[-1])
        return _is_of_one(shape, index, array, site, self._source)


def _is_of_one(shape: Shape, index: ast.expr, array: ast.expr, site: OperationSite, source: Source) -> bool:
    if shape.rank == 0 or shape.believed == One.UNKNOWN or _is_bound_within(index, site.statement):
        return False
    if shape.believed == One.SURE:
        return True
    if shape.believed == One.BY_LAST and _OF_SEQUENCES.search(source.text):
        return False
    if _holds_names(array, source):
        return True
    of_rows = _LINEAR in source.text and not _OF_PLACES.search(source.text)
    return of_rows and not _OF_SEQUENCES.search(source.text)


def _holds_names(array: ast.expr, source: Source) -> bool:
    """Whether an array holds text by its name, or by what the module gives it."""
    name = last_name(array) or ""
    if _NAMES.search(name):
        return True
    given = stored_in(source.tree.body, name) if isinstance(array, ast.Name) else []
    texts = (each.args[0] for each in given if isinstance(each, ast.Call) and each.args)
    return any(isinstance(each, (ast.List, ast.Tuple)) and _are_texts(each.elts) for each in texts)


def _are_texts(items: list[ast.expr]) -> bool:
    return bool(items) and all(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in items)


def _is_bound_within(index: ast.expr, statement: ast.stmt) -> bool:
    """Whether a comprehension or lambda of the statement binds a name of the index, which is another then."""
    read = {each.id for each in walk(index) if isinstance(each, ast.Name)}
    for whole in own_expressions(statement):
        for each in walk(whole):
            if isinstance(each, ast.comprehension):
                bound = {name.id for name in walk(each.target) if isinstance(name, ast.Name)}
            elif isinstance(each, ast.Lambda):
                bound = {name.arg for name in (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)}
            else:
                continue
            if not read.isdisjoint(bound):
                return True
    return False
