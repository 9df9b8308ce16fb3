"""Python imports this in the processes that a rehearsed program starts, whose PYTHONPATH names the folder.

It makes way for the one that it hides, if there is one.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
_OURS = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = _OURS  # Python asks for it when it has been imported
try:
    from tonumpy.rehearsal.following import follow
except ImportError:  # another Python, which does not have us
    pass
else:
    follow()
