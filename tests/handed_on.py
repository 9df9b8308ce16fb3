"""Packages that hand a function on in every way, of which nothing shows what it gives: PKG stands for the package."""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """The files of a package, and the names of its function: a promise by any of them holds for calls by all."""

    files: dict[str, str]
    names: tuple[str, ...] = ("PKG.load", "PKG._c.load")


LOAD = """\
import registry


def load(path):
    return registry.get("load")(path)
"""
PRIVATE = LOAD.replace("def load", "def _load")
WRAPPED = LOAD.replace("def load", "@registry.cached\ndef load")
READER = """\
class Reader:
    def load(self, path):
        return self.loader(path)
"""
TRIED = """\
try:
    from ._c import load
except ImportError:
    load = None
"""
FALLBACK = """\
import registry

try:
    from ._c import load
except ImportError:

    def load(path):
        return registry.get("load")(path)
"""
OBJECT = """\
class Loader:
    def __call__(self, path):
        return self.loader(path)


load = Loader()
"""
EMPTY_CLASS = """\
class Reader:
    pass


setattr(Reader, "load", make())
"""
HERE, METHOD = ("PKG.load",), ("PKG.Reader.load",)
BOTH = ("PKG.load", "PKG.io.load")
LAYOUTS = {
    "compiled": Layout({"__init__": "from ._c import load\n"}),
    "compiled_absolute": Layout({"__init__": "from PKG._c import load\n"}),
    "compiled_star": Layout({"__init__": "from ._c import *\n"}),
    "compiled_module": Layout({"__init__": "from . import _c\nload = _c.load\n"}),
    "compiled_tried": Layout({"__init__": TRIED}),
    "compiled_deep": Layout({"__init__": "from .ext._c import load\n"}, ("PKG.load", "PKG.ext._c.load")),
    "compiled_renamed": Layout({"__init__": "from ._c import c_load as load\n"}, ("PKG.load", "PKG._c.c_load")),
    "stub": Layout({"__init__": "from ._c import load\n", "_c.pyi": "def load(path): ...\n"}),
    "stub_alone": Layout({"__init__.pyi": "from .io import load as load\n", "io": LOAD}, BOTH),
    "empty": Layout({"__init__": ""}, HERE),
    "empty_with_part": Layout({"__init__": ""}, ("PKG._c.load",)),
    "getattr": Layout({"__init__": "def __getattr__(name):\n    return registry[name]\n", "io": LOAD}, HERE),
    "setattr": Layout({"__init__": "import sys\n\nsetattr(sys.modules[__name__], 'load', make())\n"}, HERE),
    "made": Layout({"__init__": "import registry\n\nload = registry.get('load')\n"}, HERE),
    "made_and_alias": Layout(
        {"__init__": "from .io import _load\n\nload = _load\n", "io": "import registry\n\n_load = registry.get()\n"},
        ("PKG.load", "PKG._load", "PKG.io._load"),
    ),
    "wrapped": Layout({"__init__": WRAPPED}, HERE),
    "object": Layout({"__init__": OBJECT}, HERE),
    "fallback": Layout({"__init__": FALLBACK}, HERE),
    "defined": Layout({"__init__": "from .io import load\n", "io": LOAD}, BOTH),
    "defined_private": Layout(
        {"__init__": "from ._io import _load as load\n", "_io": PRIVATE}, ("PKG.load", "PKG._io._load")
    ),
    "defined_star": Layout({"__init__": "from .io import *\n", "io": LOAD}, BOTH),
    "defined_twice": Layout(
        {"__init__": "from .all import load\n", "all": "from .io import load\n", "io": LOAD}, (*BOTH, "PKG.all.load")
    ),
    "class_compiled": Layout({"__init__": "from ._c import Reader\n"}, ("PKG.Reader.load", "PKG._c.Reader.load")),
    "class_empty": Layout({"__init__": ""}, METHOD),
    "class_without_it": Layout({"__init__": EMPTY_CLASS}, METHOD),
    "class_defined": Layout(
        {"__init__": "from .io import Reader\n", "io": READER}, ("PKG.Reader.load", "PKG.io.Reader.load")
    ),
}
