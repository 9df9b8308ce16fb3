"""Runs a program as Python would, on a stand-in accelerator: `python program.py ROOT ORDER SCRIPT ARG...`.

Started by its path, so that the program's own folder comes first in `sys.path`, and ours not before it.
"""

from __future__ import annotations

import atexit
import os
import sys

if __name__ == "__main__":
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    if sys.argv[1] not in sys.path:
        from importlib.util import find_spec

        if find_spec("tonumpy") is None:  # run from a checkout, and not installed
            sys.path.append(sys.argv[1])


from collections.abc import Callable
from types import CodeType, TracebackType
from typing import NoReturn

# Whether Python puts the program's folder first in `sys.path`; `-P` and `-I` forbid it.
PUTS_FOLDER = not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_COROUTINE = 0x80  # inspect.CO_COROUTINE: a notebook that awaits
NOT_STARTED = 2
NOT_STARTED_MARK = "not-started"  # the name of the file that says why


class NotStartedError(Exception):
    """The program, or the stand-in, cannot be started; the text says why."""


def main(arguments: list[str]) -> None:
    from tonumpy.rehearsal.following import Ending, order_of  # start-up
    from tonumpy.rehearsal.frames import failure_of, in_one_line  # start-up
    from tonumpy.rehearsal.notebook import place_in  # start-up

    order, ending, process = order_of(arguments[0]), Ending(), os.getpid()
    atexit.register(ending.end)
    try:
        run = _prepared(arguments[1:])
        recorder = ending.begin(arguments[0], is_first=True)
    except NotStartedError as error:
        _give_up(order.folder, str(error))
    except ImportError as error:
        _give_up(order.folder, f"a rehearsal runs on your own torch, and there is none: {error}")

    def note(ended: str, failure: object) -> None:
        if os.getpid() == process:  # not in a fork
            recorder.note_how(ended, failure)

    try:
        run()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        note(f"exit code {code}", failure_of(error))
        raise
    except BaseException as error:
        failure = failure_of(error)
        place = "" if failure[1] is None else f" at {place_in(*failure[1])}"
        text = in_one_line(str(error))
        said = f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
        note(said, failure)
        error.__traceback__ = _without_ours(error.__traceback__)
        if failure[1] is not None and failure[1][0].endswith(".ipynb"):  # Python would show its JSON
            import traceback  # start-up

            traceback.print_exception(error)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _prepared(words: list[str]) -> Callable[[], None]:
    """Set `sys.argv` and `sys.path` as Python does for the program, and return a function that runs it."""
    if words[:1] == ["-m"]:
        if len(words) < 2:
            raise NotStartedError("-m: the name of a module is missing")
        if PUTS_FOLDER:
            sys.path.insert(0, os.getcwd())
        sys.argv = ["-m", *words[2:]]
        code, spec = _module_named(words[1])
        sys.argv[0] = code.co_filename
        return _runner(code, code.co_filename, spec)
    script = words[0]
    sys.argv = words
    command = None if os.path.exists(script) or os.path.basename(script) != script else _command_named(script)
    if command is not None:
        return command
    path = os.path.abspath(script)
    if PUTS_FOLDER:
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    try:
        with open(path, "rb") as stream:
            code = _code_of(stream.read(), path, script)
    except OSError as error:
        raise NotStartedError(f"{script}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise NotStartedError(f"{script}: {error}") from error
    return _runner(code, path, None)


def _code_of(text: bytes, path: str, shown: str) -> CodeType:
    """Compile a script or notebook; NotStartedError for a notebook that cannot be run."""
    if not path.endswith(".ipynb"):
        return compile(text, path, "exec", dont_inherit=True)
    from tonumpy.findings import SourceError  # start-up
    from tonumpy.rehearsal.notebook import code_of  # start-up

    try:
        return code_of(text, path, shown)
    except SourceError as error:
        raise NotStartedError(str(error)) from error


def _command_named(name: str) -> Callable[[], None] | None:
    """A function that runs a console script by its name (`torchrun`); None if no package has installed it."""
    from importlib.metadata import entry_points

    for each in entry_points(group="console_scripts", name=name):
        folder = os.path.dirname(sys.executable)
        path = os.path.join(folder, name)
        sys.argv[0] = path
        if PUTS_FOLDER:
            sys.path.insert(0, folder)
        text = f"import sys\nfrom {each.module} import {each.attr.partition('.')[0]}\nsys.exit({each.attr}())\n"
        return _runner(compile(text, path, "exec", dont_inherit=True), path, None)
    return None


def _module_named(name: str) -> tuple[CodeType, object]:
    """The code and the spec of a module, found as `python -m` finds them."""
    import runpy

    try:
        _, spec, code = runpy._get_module_details(name, runpy._Error)  # type: ignore[attr-defined]
    except runpy._Error as error:  # type: ignore[attr-defined]
        raise NotStartedError(f"-m {name}: {error}") from error
    return code, spec


def _runner(code: CodeType, path: str, spec: object) -> Callable[[], None]:
    from types import ModuleType

    def run() -> None:
        module = ModuleType("__main__")
        module.__file__ = path
        module.__dict__.update({"__builtins__": __builtins__, "__spec__": spec, "__cached__": None})
        if spec is not None:
            module.__package__ = getattr(spec, "parent", None)
            module.__loader__ = getattr(spec, "loader", None)
        sys.modules["__main__"] = module
        if path.endswith(".ipynb"):
            from tonumpy.rehearsal.notebook import names_of_ipython  # start-up

            module.__dict__.update(names_of_ipython())
        if code.co_flags & _COROUTINE:
            import asyncio

            asyncio.run(eval(code, module.__dict__))
        else:
            exec(code, module.__dict__)

    return run


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package, which lie between the program's own and torch's."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            kept.append(traceback)
        traceback = traceback.tb_next
    for each, following in zip(kept, [*kept[1:], None], strict=True):
        each.tb_next = following
    return kept[0] if kept else None


def _give_up(folder: str, reason: str) -> NoReturn:
    from tonumpy.boundary.output import replace_file  # start-up

    replace_file(os.path.join(folder, NOT_STARTED_MARK), reason.encode("utf-8", "backslashreplace"))
    sys.exit(NOT_STARTED)


if __name__ == "__main__":
    main(sys.argv[2:])
