"""# Unused `# noqa` comment (TNP901)

## What it does

Reports a `# noqa: TNP...` comment, or single codes of it, on a line without such a finding. All rules are tried, also
those that are not selected. Codes of other tools and comments without a code are left alone. Off by default; selecting
the code turns it on.

## Why is this bad

The comment was right once. Now it hides the next real finding on its line, and warns readers of a danger that is gone.

## Example

```python
import torch


def to_array(x: torch.Tensor):
    return x.detach().cpu().numpy()  # noqa: TNP101
```

## Use instead

```python
import torch


def to_array(x: torch.Tensor):
    return x.detach().cpu().numpy()
```

## Fix safety

Safe: it removes only the comment, or the code in it; the module's syntax tree stays the same.
"""

from collections.abc import Sequence

CODE = "TNP901"
ON_BY_DEFAULT = False
JUDGES = ("comments",)


def check(unused: Sequence[str]) -> str | None:
    """The message about the codes of one comment, as spelled there, that suppress nothing."""
    if not unused:
        return None
    why = ["flake8 takes codes in upper case only"] if any(code != code.upper() for code in unused) else []
    unseen = [code for code in unused if code == code.upper()]
    why += [f"no {' or '.join(unseen)} is reported on this line"] if unseen else []
    return f"`# noqa` of {', '.join(unused)} suppresses nothing: {', and '.join(why)}"
