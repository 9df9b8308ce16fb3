"""The flake8 plugin. flake8 itself selects codes and handles `noqa`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from argparse import Namespace
    from collections.abc import Iterator, Sequence
    from typing import Any, ClassVar

    from flake8.options.manager import OptionManager
    from flake8.style_guide import StyleGuideManager

    from tonumpy.config import Configuration, Settings
    from tonumpy.engine.names.project import Project

_SWITCH = {"action": "store_true", "default": False}
_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "strict": (_SWITCH, "Report every conversion of a tensor that does not call both .detach() and .cpu() (TNP300)."),
    "preview": (_SWITCH, "Also report what new preview rules find."),
    "confidence": (
        {"choices": ("high", "medium", "low")},
        "Minimum confidence to report: high, medium (the default) or low.",
    ),
    "links": ({"choices": ("both", "needed")}, "Advise both links (the default), or only those not proved needless."),
}


class Plugin:
    """The plugin class: flake8 calls `parse_options` once per process and makes one object per file."""

    configuration: ClassVar[Configuration]
    codes: ClassVar[tuple[str, ...]]
    guides: ClassVar[StyleGuideManager]
    project: ClassVar[Project | None]

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self.tree = tree
        self.filename = filename
        self.text = "".join(lines)

    @staticmethod
    def add_options(options: OptionManager) -> None:
        for name, (kind, told) in _OPTIONS.items():
            options.add_option(f"--tonumpy-{name}", parse_from_config=True, help=told, **kind)

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        # flake8 does not pass its decisions about codes to plugins. Not imported for `flake8 --version`: start-up.
        from flake8.style_guide import StyleGuideManager

        from tonumpy.config import ConfigError, Configuration, read_choices  # the same: start-up

        try:  # flake8 checks `choices` on the command line only
            said = read_choices(
                strict=options.tonumpy_strict or None,
                preview=options.tonumpy_preview or None,
                confidence=options.tonumpy_confidence,
                links=options.tonumpy_links,
            )
            cls.configuration = Configuration(said)
            cls.configuration.settings_in(os.curdir)
        except (ConfigError, ValueError) as error:
            from flake8.exceptions import ExecutionError

            raise ExecutionError(str(error) if isinstance(error, ConfigError) else f"tonumpy-{error}") from error
        # "TNP" stands for the rules on by default; the others run only if flake8 selects them by code.
        cls.codes = ("TNP", *(options.select or ()), *(options.extend_select or ()))
        cls.guides = StyleGuideManager(options, None)  # type: ignore[arg-type]
        cls.project = None

    def settings(self) -> Settings:
        """The settings for this file, without the codes of `[tool.tonumpy]`, as flake8 selects them, and without
        observations, which may be of another state of the code."""
        from tonumpy.rules import all_rules  # only for files that may have findings: start-up

        found = self.configuration.settings_in(os.path.dirname(self.filename))
        decide = self.guides.style_guide_for(self.filename).decider.decision_for
        # A rule that stands in for others must know which of them are not shown.
        hidden = tuple(rule.code for rule in all_rules() if decide(rule.code).name == "Ignored")
        return found._replace(select=self.codes, ignore=(), extend_select=(), ignored_here=hidden, observed=None)

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        from tonumpy.config import may_have_findings  # the same: start-up

        if not may_have_findings(self.text.encode(errors="replace"), self.settings):
            return
        # Most files end before these.
        from tonumpy.engine.names.project import Project  # start-up
        from tonumpy.garbage import Paused  # start-up
        from tonumpy.pipeline import check  # start-up
        from tonumpy.text.source import Source  # start-up

        if Plugin.project is None:
            Plugin.project = Project()
        source = Source.from_text(self.text, self.filename, self.tree)
        try:
            with Paused():
                findings = check(source, self.settings(), Plugin.project)
        except Exception as error:  # report it for this file: it would end flake8's whole run
            yield 1, 0, f"TNP900 cannot be analysed: {type(error).__name__}: {error}", type(self)
            return
        for finding in findings:
            # flake8 adds the 1 to the column itself.
            text = f"{finding.code} {finding.message}{f' {finding.fix.told}' if finding.fix else ''}"
            yield finding.start.row, finding.start.column - 1, text, type(self)
