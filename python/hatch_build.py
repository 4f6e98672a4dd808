"""Puts the program that `DATAPERF_PROGRAM` names into the wheel. Without it the wheel is pure Python and finds `dataperf` on the `PATH`."""

import os
import platform
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging import tags

MACOS = "macosx_11_0"  # the oldest that Rust builds for


class ProgramHook(BuildHookInterface):
    """A wheel for one platform, if it has the program."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        program = os.environ.get("DATAPERF_PROGRAM")
        if not program:
            return
        if platform.system() == "Darwin":
            target = f"{MACOS}_{platform.machine()}"
        else:  # the C library of this machine, and any newer one
            target = next(tag for tag in tags.platform_tags() if tag.startswith(("manylinux", "musllinux")))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{target}"
        build_data["shared_scripts"][str(Path(program).resolve())] = "dataperf"
