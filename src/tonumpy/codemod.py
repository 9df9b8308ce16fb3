"""The fix as a LibCST codemod: it repairs a module, and warns of each finding that is left.

    python -m libcst.tool codemod --no-format -x tonumpy.codemod.FixNumpyConversionsCommand PATH...

`-x` takes the class by its full name, so no `.libcst.codemod.yaml` is needed; without `--no-format` LibCST passes every
changed file through black, which must then be installed.
"""

from __future__ import annotations

from libcst import Module, parse_module
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from tonumpy.config import Choices, combine, read_choices
from tonumpy.findings import STYLES, SourceError
from tonumpy.inference.index.project import Project
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.pipeline import fix
from tonumpy.repair.rewrite import RewriteError
from tonumpy.text.reading import read_regular
from tonumpy.text.source import Source

if TYPE_CHECKING:
    import argparse

    from tonumpy.findings import Style


class FixNumpyConversionsCommand(CodemodCommand):
    DESCRIPTION: str = "Make `.numpy()` on PyTorch tensors safe: `.detach().cpu().numpy()`."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        arg_parser.add_argument(
            "--strict", action="store_true", help="repair conversions that are proved safe as they stand, too"
        )
        arg_parser.add_argument(
            "--unsafe-fixes",
            action="store_true",
            help="repair where nothing is known of the receiver but that torch is the only array framework in use, too",
        )
        arg_parser.add_argument(
            "--style",
            choices=STYLES,
            default="links",
            help="write `.detach().cpu().numpy()` (links, the default) or `.numpy(force=True)` (force)",
        )

    def __init__(
        self, context: CodemodContext, strict: bool = False, unsafe_fixes: bool = False, style: Style = "links"
    ) -> None:
        super().__init__(context)
        self.settings = combine(Choices(), read_choices(strict=strict, style=style))
        self.unsafe_fixes = unsafe_fixes

    def transform_module_impl(self, tree: Module) -> Module:
        filename = self.context.filename
        if filename is not None and _is_lossy(tree, filename):
            raise SkipFile("LibCST does not give this file back byte for byte; `tonumpy fix` does")
        source = Source.from_text(tree.code, filename or "<stdin>")
        try:
            fixed = fix(source, self.settings, Project(), unsafe=self.unsafe_fixes)
        except RewriteError:
            raise  # a defect of ours counts as a failure, and LibCST goes on with the next file
        except SourceError as error:
            raise SkipFile(str(error)) from error
        for finding in fixed.remaining:
            self.warn(
                f"{finding.filename}:{finding.start.row}:{finding.start.column}: {finding.code} {finding.message}"
            )
        return parse_module(fixed.text, tree.config_for_parsing) if fixed.applied else tree


def _is_lossy(tree: Module, filename: str) -> bool:
    """Whether LibCST has lost something in reading the file (a form feed, a last carriage return).

    A tree that another codemod has changed since also differs from the file, and that is no loss.
    """
    try:
        data = read_regular(filename)
    except OSError:
        return False
    return tree.bytes != data and parse_module(data).bytes == tree.bytes
