"""Compiles modules of a wheel where `HATCH_BUILD_HOOK_ENABLE_CUSTOM=1` asks for it; see scripts/build_native.py."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeModules(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            sys.path.insert(0, str(Path(self.root, "scripts")))
            from build_native import compile_into

            self._folder = tempfile.TemporaryDirectory()
            target = Path(self._folder.name).resolve()
            for path in compile_into(target):
                build_data["force_include"][str(path)] = path.relative_to(target).as_posix()
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, *_: object) -> None:
        if version != "editable":
            self._folder.cleanup()
