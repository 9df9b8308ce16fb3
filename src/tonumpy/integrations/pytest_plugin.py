"""The pytest plugin: `pytest --rehearse` runs the tests on a stand-in accelerator. Without the option it does nothing.

Child processes of a rehearsed one, such as pytest-xdist's workers, are rehearsed anyway, so it does nothing there.
"""

from __future__ import annotations

import os

import pytest

TYPE_CHECKING = False  # importing `typing` here would cost every pytest run
if TYPE_CHECKING:
    from contextlib import ExitStack

    from tonumpy.rehearsal.judging import Judged
    from tonumpy.rehearsal.spool import Recorder
    from tonumpy.report import Report

_DEVICES = ("cuda", "mps", "xpu", "npu")  # as in tonumpy.rehearsal.rehearsal_options
_NAME = "tonumpy-rehearsal"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tonumpy", "rehearsal on a stand-in accelerator (tonumpy)")
    group.addoption("--rehearse", action="store_true", help="report the conversions to NumPy that would fail there")
    group.addoption("--rehearse-device", choices=_DEVICES, default="cuda", help="what it is called (default: cuda)")
    group.addoption("--rehearse-devices", type=_count, default=1, metavar="N", help="how many there are (default: 1)")
    group.addoption("--rehearse-stop", action="store_true", help="raise at a refused conversion, as hardware does")
    group.addoption("--rehearse-format", default="concise", metavar="FORMAT", help="of `tonumpy rehearse`")
    group.addoption("--rehearse-file", metavar="FILE", help="write the report there")
    group.addoption("--rehearse-unreached", action="store_true", help="list the conversions that did not run")
    group.addoption("--rehearse-observations", metavar="FILE", help="add what was seen to this record")


def _count(text: str) -> int:
    from tonumpy.rehearsal.rehearsal_options import device_count  # only where it is asked for: start-up

    return device_count(text)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before any of the user's files is imported, which may ask torch whether there is a GPU."""
    if not getattr(early_config.known_args_namespace, "rehearse", False):
        return
    from tonumpy.rehearsal.following import VARIABLE  # only where it is asked for: start-up

    if VARIABLE not in os.environ:
        early_config.pluginmanager.register(_begun(early_config), _NAME)


def _begun(config: pytest.Config) -> Rehearsal:
    import tempfile
    from contextlib import ExitStack

    from tonumpy.formats import format_names  # the same: start-up
    from tonumpy.rehearsal.following import Order, rehearsing  # only where it is asked for: start-up

    said = config.known_args_namespace
    if said.rehearse_format not in format_names():
        raise pytest.UsageError(f"--rehearse-format: there is no `{said.rehearse_format}`, but {format_names()}")
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tonumpy-rehearsal-", ignore_cleanup_errors=True))
    order = Order(folder, said.rehearse_device, said.rehearse_stop, said.rehearse_devices).as_text()
    try:
        recorder = stack.enter_context(rehearsing(order, is_first=True))
    except ImportError as error:
        raise pytest.UsageError(f"--rehearse runs on your own torch, and there is none: {error}") from error
    return Rehearsal(stack, folder, recorder, said.rehearse_observations)


class Rehearsal:
    """A rehearsal, from before the first import of the user's files to the end of the run."""

    def __init__(self, stack: ExitStack, folder: str, recorder: Recorder, observations: str | None) -> None:
        self._stack, self._folder, self._recorder = stack, folder, recorder
        self._observations = observations
        self._told: tuple[Judged, Report, str] | None = None

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Judge the run, and fail it if it has findings: its tests may pass only because the stand-in goes on."""
        from tonumpy.cli.rehearse import record, report_of  # the same: start-up
        from tonumpy.config import Configuration  # only where it is asked for: start-up
        from tonumpy.rehearsal.judging import judge_run  # the same: start-up
        from tonumpy.rehearsal.spool import read_run  # the same: start-up
        from tonumpy.rehearsal.summary import summary_of  # the same: start-up

        self._recorder.end()
        run = read_run(self._folder)
        self._stack.close()
        judged = judge_run(run, Configuration().settings_of, fragile=False)
        report = report_of(judged)
        if self._observations is not None:
            record(judged, self._observations)
        option = None if session.config.option.rehearse_unreached else "--rehearse-unreached"
        self._told = judged, report, summary_of(run, "", judged, report, None, is_shown=False, option=option)
        if report.findings and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        from tonumpy.cli.disk import write_text  # only where it is asked for: start-up
        from tonumpy.report import format_named  # the same: start-up

        if self._told is None:
            return
        _, report, summary = self._told
        rendered = format_named(config.option.rehearse_format).render(report, colour=False)
        terminalreporter.section("rehearsal on a stand-in accelerator (tonumpy)")
        if config.option.rehearse_file is not None:
            write_text(config.option.rehearse_file, rendered, kind="report")
            rendered = ""
        for line in (rendered + summary).splitlines():
            terminalreporter.write_line(line)
