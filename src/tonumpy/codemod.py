"""The fix as a LibCST codemod: it repairs a module by the settings of its pyproject.toml, and warns about the rest.

    python -m libcst.tool codemod --no-format -x tonumpy.codemod.FixNumpyConversionsCommand PATH...

`-x` takes the class by its full name, so no `.libcst.codemod.yaml` is needed; without `--no-format` LibCST passes every
changed file through black, which must then be installed.
"""

import argparse

from libcst import Module, parse_module
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from tonumpy.cli.files import is_left_out
from tonumpy.config import Configuration, read_choices
from tonumpy.engine.names.project import Project
from tonumpy.findings import LINKS, STYLES, Links, SourceError, Style
from tonumpy.pipeline import fix
from tonumpy.repair.rewrite import RewriteError
from tonumpy.text.reading import read_regular
from tonumpy.text.source import Source


class FixNumpyConversionsCommand(CodemodCommand):
    DESCRIPTION: str = "Make `.numpy()` on PyTorch tensors safe: `.detach().cpu().numpy()`."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.add_argument("--strict", action="store_true", help="require both links on every conversion (TNP300)")
        arg_parser.add_argument(
            "--unsafe-fixes",
            action="store_true",
            help="also apply unsafe fixes, such as those on values of unknown type",
        )
        arg_parser.add_argument(
            "--style",
            choices=STYLES,
            help="how to repair: links (.detach().cpu(), the default) or force (.numpy(force=True))",
        )

        arg_parser.add_argument(
            "--links",
            choices=LINKS,
            help="add both links (the default), or only those that are not proved needless",
        )

    def __init__(
        self,
        context: CodemodContext,
        strict: bool = False,
        unsafe_fixes: bool = False,
        style: Style | None = None,
        links: Links | None = None,
    ) -> None:
        """Take the options; for those not given, the pyproject.toml that governs the file decides."""
        super().__init__(context)
        choices = read_choices(strict=strict or None, unsafe_fixes=unsafe_fixes or None, style=style, links=links)
        self.configuration = Configuration(choices)

    def transform_module_impl(self, tree: Module) -> Module:
        filename = self.context.filename
        if filename is not None and _is_lossy(tree, filename):
            raise SkipFile("LibCST does not give this file back byte for byte; `tonumpy fix` does")
        source = Source.from_text(tree.code, filename or "<stdin>")
        settings = self.configuration.settings_of(filename or "")
        if filename is not None and is_left_out(filename, settings):
            raise SkipFile("excluded by the settings, or in a folder of installed packages, caches or builds")
        try:
            fixed = fix(source, settings, Project(), unsafe=settings.unsafe_fixes)
        except RewriteError:
            raise  # an internal error counts as a failure; LibCST goes on with the next file
        except SourceError as error:
            raise SkipFile(str(error)) from error
        for finding in fixed.remaining:
            self.warn(
                f"{finding.filename}:{finding.start.row}:{finding.start.column}: {finding.code} {finding.message}"
            )
        return parse_module(fixed.text, tree.config_for_parsing) if fixed.applied else tree


def _is_lossy(tree: Module, filename: str) -> bool:
    """True if LibCST has lost characters in reading the file (a form feed, a last carriage return).

    A tree that differs because another codemod has changed it is not lossy.
    """
    try:
        data = read_regular(filename)
    except OSError:
        return False
    return tree.bytes != data and parse_module(data).bytes == tree.bytes
