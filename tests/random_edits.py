"""Edits a folder of Python files at random, as people and programs do."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

# What changes what is known, in one direction or the other, without a change of the text's length where there are two.
_WORDS = (
    (".detach()", ""),
    (".cpu()", ""),
    (".numpy()", ".detach().numpy()"),
    ("no_grad", "enable_grad"),
    ("import torch", "import torch as t"),
    ("self.", "that."),
    ("return ", "yield "),
    ("detach", "hcated"),
    ("cpu", "upc"),
)
_LINES = (  # of a body
    b"# a comment that says requires_grad and cuda",
    b"",
    b"self.weight = self.weight.cuda()",
    b"x = x.detach().cpu()",
    b"import torch.nn as nn",
    b"global DEVICE",
    b"return torch.zeros(3).cuda()",
    b"helper = lambda value: value.cuda()",
)
_ABOVE = (b"# above\n", b"import os", b"import tensorflow as tf", b"DEVICE = 'cuda'", b"def above():\n    pass\n\n")
_SIGNATURES = (b"(*given):", b"(self, x=None):", b"(x: torch.Tensor) -> torch.Tensor:", b"():")
_NAMES = ("__init__.py", "conftest.py", "utils.py", "numpy_tools.py", "models.py")


class Editor:
    """All that it does follows from the random numbers, and from what it finds in the folder."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root = root
        self._random = random
        self._texts = [path.read_bytes() for path in self._files()]  # of files that are removed and come again

    def edit(self) -> str:
        """Do one thing; what was done."""
        in_one = (self._insert, self._insert, self._take_out, self._put_above, self._sign, self._call_otherwise)
        often = (self._change, self._replace, self._add, self._call, *in_one)
        seldom = (
            self._disguise,
            self._remove,
            self._rename,
            self._touch,
            self._exchange,
            self._move_folder,
            self._link,
        )
        what = self._random.choice((*often, *often, *often, *seldom))
        return f"{what.__name__.strip('_')} {what()}"

    def _files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*.py") if path.is_file())

    def _folders(self) -> list[Path]:
        return sorted({self.root, *(path.parent for path in self._files())})

    def _file(self) -> Path:
        return self._random.choice(self._files() or [self._added(self.root / "first.py")])

    def _added(self, path: Path) -> Path:
        if path.is_symlink():
            path.unlink()
        path.write_bytes(self._random.choice(self._texts))
        return path

    def _changed(self, data: bytes) -> bytes:
        words = [pair for pair in _WORDS if pair[0].encode() in data]
        if not words:
            return data + b"# changed\n"
        old, new = self._random.choice(words)
        return data.replace(old.encode(), new.encode(), self._random.choice((1, -1)))

    def _change(self) -> Path:
        path = self._file()
        path.write_bytes(self._changed(path.read_bytes()))
        return path

    def _call(self) -> str:
        """A function or method of another file, which thereby has one more caller, or one less."""
        path, other = self._file(), self._file()
        data = path.read_bytes()
        names = re.findall(rb"\bdef (\w+)", other.read_bytes()) or [b"load"]
        name, module = self._random.choice(names), other.stem.encode()
        calls = (
            b"\nfrom %s import %s as f\n\n\ndef called_at_random(x):\n    f(x.cpu())\n" % (module, name),
            b"\nimport torch\nfrom %s import *\n\n%s(torch.ones(3, requires_grad=True))\n" % (module, name),
            b"\n\ndef called_at_random(model, x):\n    return model.%s(x.cuda())\n" % name,
        )
        at = data.find(b"\n\ndef called_at_random")
        path.write_bytes(data[:at] if at != -1 else data + self._random.choice(calls))
        return f"{name.decode(errors='replace')} of {other} in {path}"

    def _insert(self) -> str:
        """A line into a body, which moves all that stands behind it."""
        said = self._random.choice(_LINES)
        return self._edit_line(rb"[ \t]+\S", lambda line: [line[: -len(line.lstrip())] + said, line])

    def _take_out(self) -> str:
        return self._edit_line(rb"[ \t]+\S", lambda _: [])

    def _put_above(self) -> str:
        """Something before a function or a class, which stays what it is."""
        said = self._random.choice(_ABOVE)
        return self._edit_line(rb"(def|class) ", lambda line: [said, line])

    def _sign(self) -> str:
        """Another signature."""
        said = self._random.choice(_SIGNATURES)
        return self._edit_line(rb"\s*def \w+\(.*\).*:", lambda line: [re.sub(rb"\(.*\)[^:]*:", said, line)])

    def _call_otherwise(self) -> str:
        """Another name for a function or a class, perhaps that of another one."""
        name = self._random.choice(re.findall(rb"(?:def|class) (\w+)", self._file().read_bytes()) or [b"load"])
        return self._edit_line(rb"\s*(def|class) \w", lambda line: [re.sub(rb"(def|class) \w+", rb"\1 " + name, line)])

    def _edit_line(self, pattern: bytes, edit: Callable[[bytes], list[bytes]]) -> str:
        """One of the lines of a file that begin as the pattern says, if there is any."""
        path = self._file()
        lines = path.read_bytes().split(b"\n")
        rows = [row for row, line in enumerate(lines) if re.match(pattern, line)]
        row = self._random.choice(rows or [len(lines)])
        if rows:
            lines[row : row + 1] = edit(lines[row])
        path.write_bytes(b"\n".join(lines))
        return f"{path}:{row + 1}"

    def _replace(self) -> Path:
        """As an editor does that writes a new file first."""
        path = self._file()
        other = path.with_name(f"{path.name}.new")
        other.write_bytes(self._changed(path.read_bytes()))
        other.replace(path)
        return path

    def _disguise(self) -> Path:
        """Another text of the same length, with the time stamp of the one before."""
        path = self._file()
        before, data = path.stat(), path.read_bytes()
        path.write_bytes(data.replace(b"detach", b"hcated") if b"detach" in data else data.replace(b"cpu", b"upc"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return path

    def _add(self) -> Path:
        return self._added(self._random.choice(self._folders()) / self._name())

    def _name(self) -> str:
        """One that is imported somewhere, perhaps, or one that means something."""
        return self._random.choice((*_NAMES, self._file().name, f"{self._file().parent.name or 'a'}.py"))

    def _remove(self) -> Path:
        path = self._file()
        path.unlink()
        return path

    def _rename(self) -> str:
        path = self._file()
        to = self._random.choice(self._folders()) / self._name()
        if not to.is_dir():
            path.replace(to)
        return f"{path} {to}"

    def _touch(self) -> Path:
        path = self._file()
        os.utime(path)
        return path

    def _exchange(self) -> str:
        one, other = self._file(), self._file()
        between = one.with_name("between")
        one.replace(between)
        if other.exists():
            other.replace(one)
        between.replace(other)
        return f"{one} {other}"

    def _move_folder(self) -> str:
        folder = self._random.choice(self._folders())
        to = self._random.choice(self._folders()) / self._random.choice(("src", "lib", folder.name, "tests", ".git"))
        if folder != self.root and not to.exists() and folder not in to.parents:
            shutil.move(folder, to)
        return f"{folder} {to}"

    def _link(self) -> str:
        """To a file that is there, or is not."""
        path = self._random.choice(self._folders()) / self._name()
        target = self._random.choice((self._file(), path.with_name("nowhere.py")))
        if not os.path.lexists(path):
            path.symlink_to(target)
        return f"{path} {target}"
