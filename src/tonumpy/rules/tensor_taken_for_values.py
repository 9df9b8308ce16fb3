"""# Tensor taken for its values (TNP206)

## What it does

Reports a tensor where NumPy, pandas, xarray, `csv`, `json` or Python itself take it for one object, or for something
else than its values, so that another result comes out and nothing raises:

- comparisons: `series == t` of pandas is False everywhere, `!=` True, equal values included; `series.isin(t)` finds by
  the addresses of objects, by chance; `pd.isna(t)` is one False;
- keys: `set(t)`, `Counter(t)`, `counts[label] += 1`, `counts.get(label, 0)`, `label in seen` for each `label` of a
  tensor: Python tells tensors apart by identity, so equal ones never meet;
- tables and files: `pd.DataFrame([{"loss": loss}])` and `csv.writer(file).writerow([step, loss])` hold the tensors, and
  a file gets `tensor(0.5000)`; so does JSON by `json.dump(record, file, default=str)`;
- functions that call a method of the tensor: `np.size(t)` gives a method, `np.nonzero(t)` another shape.

What does so was measured, with the versions.

Confidence is high where values are compared, counted, selected or lost. Text that a person reads, as in
`plt.title(loss)`, is left alone.

It is a rule of its own, and no form of TNP104: that says where code raises, which depends on grad and device. This
happens on the CPU and without grad as well, in code that ends with wrong results; who ignores the one wants to hear of
the other.

## Why is this bad

Nothing raises. The mask is empty, the count of classes is that of the samples, the file cannot be read as numbers.

## Example

```python
import pandas as pd
import torch


def hits(labels: torch.Tensor, path):
    table = pd.read_csv(path)
    return (table["label"] == labels.cpu()).mean()
```

## Use instead

```python
import pandas as pd
import torch


def hits(labels: torch.Tensor, path):
    table = pd.read_csv(path)
    return (table["label"] == labels.detach().cpu().numpy()).mean()
```

## Fix safety

Unsafe: the result changes, as it should. A key becomes `label.item()`, what is made a set `labels.tolist()`, a single
number in a table `loss.item()`, all else an array. There is none where the tensors are in a list or dict that is filled
elsewhere: convert each before it is added.
"""

import ast
from collections.abc import Iterator, Sequence

from tonumpy.conversions import TakenTensor
from tonumpy.detectors.taken.table import WRITERS_OF_JSON
from tonumpy.detectors.taken.words import said
from tonumpy.engine.names.bindings import is_name
from tonumpy.findings import RepairStyle
from tonumpy.repair.operations import Convert, Operation, convert_argument
from tonumpy.text.names import last_name
from tonumpy.text.syntax import statements_of

CODE = "TNP206"
ON_BY_DEFAULT = True
JUDGES = ("taken",)

_ADVICE = "convert each tensor before it is put there, `.item()` or `.detach().cpu().numpy()`"


# Functions and methods that use the items of their argument.
_OF_ITEMS = frozenset("set frozenset Counter update union intersection difference fromkeys mode multimode".split())
# Reductions that along one dimension return several numbers: `x.argmax(1)`.
_REDUCTIONS = frozenset(
    "argmax argmin max min amax amin sum mean median mode prod std var all any norm logsumexp nansum nanmean"
    " count_nonzero cumsum".split()
)


def _goes_through(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and last_name(call.func) in _OF_ITEMS


def check(conversion: TakenTensor) -> str:
    likely = "" if conversion.certainty == "tensor" else "likely "
    what = f"a {conversion.of_items} of {likely}tensors" if conversion.of_items else f"a {likely}tensor"
    advice = "" if repair(conversion, "links") else f"; {_ADVICE}"
    outcome = said(conversion.word, conversion.library, conversion.function, is_not=conversion.is_not)
    return f"`{conversion.function}` takes {what} for values: {outcome}{advice}"


def repair(conversion: TakenTensor, style: RepairStyle) -> tuple[Operation, ...]:
    if conversion.of_items:
        return ()
    if conversion.library in ("builtins", "collections", "statistics", *WRITERS_OF_JSON):
        is_whole = conversion.given != "number" or _goes_through(conversion.site.call)
        if not is_whole and _has_several(conversion.argument, conversion.site.scopes):
            return ()  # `.item()` would raise
        return (Convert(conversion.argument, (), forced=False, method="tolist" if is_whole else "item"),)
    if conversion.given == "number":
        return (Convert(conversion.argument, (), forced=False, method="item"),)
    return convert_argument(conversion, style)


def _has_several(node: ast.expr, scopes: Sequence[ast.AST]) -> bool:
    """True if an expression, or each value that its name is bound to, is a reduction along one dimension."""
    if isinstance(node, ast.Name):
        values = list(_values_of(node.id, getattr(scopes[-1], "body", [])))
        return bool(values) and all(_has_several(each, ()) for each in values if not isinstance(each, ast.Name))
    if isinstance(node, ast.Attribute) and node.attr in ("values", "indices"):  # of `x.max(1)`
        return _has_several(node.value, scopes)
    if not isinstance(node, ast.Call) or last_name(node.func) not in _REDUCTIONS:
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    given = len(node.args) - (last_name(owner) == "torch" if owner is not None else 0)
    return given > 0 or any(each.arg in ("dim", "axis") for each in node.keywords)


def _values_of(name: str, body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the values that assignments in a scope bind to a name."""
    for statement in statements_of(body):
        if isinstance(statement, ast.Assign) and any(is_name(target, name) for target in statement.targets):
            yield statement.value
