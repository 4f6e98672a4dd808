"""The command `dataperf`: where it is, and what its exit codes and reasons become."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence


class DataperfError(Exception):
    """The command could not do it; the message is the command's."""


@dataclass(frozen=True)
class Reason:
    """One thing that is wrong with an artifact."""

    code: str
    """What kind of thing, one word for programs."""
    at: str
    """Where in the artifact; empty for all of it."""
    message: str
    """What is wrong, the limit, and the remedy."""
    limit: Optional[float] = None
    """The number that was exceeded, where there is one."""
    actual: Optional[float] = None
    """The artifact's own number, where there is one."""


class Rejected(Exception):
    """An artifact breaks rules: all reasons at once. Of a file of lines, some of which obey the rules, the reasons of the others."""

    def __init__(self, document: dict[str, Any], raw: bytes):
        listed = document.get("reasons") or [reason for line in document.get("lines", []) for reason in line.get("reasons", [])]
        self.reasons: list[Reason] = [
            Reason(reason["code"], reason["at"], reason["message"], reason.get("limit"), reason.get("actual")) for reason in listed
        ]
        """Every reason, in the order of the artifact."""
        self.document = document
        """The whole verdict or receipt."""
        self.raw = raw
        """The same as the command printed it."""
        super().__init__("; ".join(f"{reason.at}: {reason.message}" if reason.at else reason.message for reason in self.reasons))


def program() -> str:
    """The command's path: `DATAPERF_COMMAND`, the one that was installed with this package, or the one on the `PATH`."""
    if chosen := os.environ.get("DATAPERF_COMMAND"):
        return chosen
    name = "dataperf.exe" if os.name == "nt" else "dataperf"
    installed = Path(sysconfig.get_path("scripts")) / name
    found = str(installed) if installed.is_file() else shutil.which("dataperf")
    if not found:
        raise DataperfError(f"the command `dataperf` is neither in {installed.parent} nor on the PATH: install this package's wheel")
    return found


def run(arguments: Sequence[str], variables: Mapping[str, str] = {}) -> bytes:
    """What the command prints as JSON, with `variables` added to the environment.

    Raises `Rejected` for exit code 2 and `DataperfError` for any other but 0.
    """
    env = {**os.environ, **variables}
    ran = subprocess.run([program(), "--format", "json", *arguments], capture_output=True, check=False, env=env)
    if ran.returncode == 2 and ran.stdout:
        raise Rejected(json.loads(ran.stdout), ran.stdout)
    if ran.returncode != 0:
        message = ran.stderr.decode(errors="replace").strip()
        raise DataperfError(message.removeprefix("error: ") or f"exit code {ran.returncode}")
    return ran.stdout
