"""Data sets and participants' kits, and the cloud."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, Union

from ._artifacts import Artifact, to_file
from ._command import run


@dataclass(frozen=True)
class Verdict:
    """An artifact's score."""

    score: float
    """The number that ranks."""
    metrics: Mapping[str, Any]
    """What else was measured, as the benchmark's page describes it."""
    document: Mapping[str, Any] = field(repr=False)
    """The whole verdict."""
    raw: bytes = field(repr=False)
    """The same as the command printed it."""


class Dataset:
    """A frozen data set, or a participants' kit, in a directory."""

    def __init__(self, directory: Union[str, "os.PathLike[str]"]):
        self.directory = Path(directory).absolute()
        self._shown: dict[str, Any] = json.loads(run(["dataset", "show", str(self.directory)]))

    def __repr__(self) -> str:
        return f"Dataset({str(self.directory)!r}, benchmark={self.benchmark!r}, leaderboards={self.leaderboards!r})"

    @property
    def benchmark(self) -> str:
        """The benchmark's id, such as `selection`."""
        return str(self._shown["benchmark"])

    @property
    def digest(self) -> str:
        """What tells this data set from every other."""
        return str(self._shown["dataset"])

    @property
    def leaderboards(self) -> list[str]:
        """The boards that it scores."""
        return [board["name"] for board in self._shown["leaderboards"]]

    def validate(self, leaderboard: str, artifact: Artifact) -> None:
        """Checks an artifact's form and rules without scoring it; raises `Rejected` with every reason. Where lines are collected, the
        kind of file will do for the leaderboard, such as `submit`; what only the cloud knows of them is not checked."""
        self._judge("validate", leaderboard, artifact)

    def score(self, leaderboard: str, artifact: Artifact) -> Verdict:
        """Scores an artifact as the cloud does. A kit scores on its public eval set, if it has one; raises `Rejected`, or
        `DataperfError` where there is nothing to score on."""
        raw = self._judge("score", leaderboard, artifact)
        document = json.loads(raw)
        return Verdict(document["score"], document["metrics"], document, raw)

    def baseline(self, leaderboard: str, method: str, seed: int = 0) -> bytes:
        """The artifact that one of the benchmark's baselines makes: the file's content."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "artifact"
            where = ["--dataset", str(self.directory), "--leaderboard", leaderboard]
            run(["baseline", *where, "--seed", str(seed), "--out", str(out), "--", method])
            return out.read_bytes()

    def _judge(self, command: str, leaderboard: str, artifact: Artifact) -> bytes:
        with tempfile.TemporaryDirectory() as scratch:
            path = _written(self.benchmark, artifact, Path(scratch), "artifact")
            where = ["--leaderboard", leaderboard, "--dataset", str(self.directory)]
            return run([command, self.benchmark, *where, str(path)])


def submit(
    benchmark: str,
    leaderboard: str,
    artifact: Artifact,
    submitter: str,
    *,
    name: str = "artifact",
    wait: bool = True,
    cloud: Union[str, Sequence[str], None] = None,
) -> dict[str, Any]:
    """Uploads an artifact and gives its receipt, or with `wait=False` what was uploaded; raises `Rejected` with every reason.

    `name` is the file's name without its end. `cloud` is what the command's `--cloud` takes: `"local"`, `"aws"`, the address of a local
    cloud's page, or a profile; or a list of the command's options, such as `["--submissions-bucket", "spring-submissions"]`. Without it
    the variable `DATAPERF_CLOUD` says which, or else AWS as `AWS_REGION`, `AWS_PROFILE` and the other usual variables say.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = _written(benchmark, artifact, Path(scratch), name)
        which = ["--cloud", cloud] if isinstance(cloud, str) else list(cloud or [])
        options = ["--leaderboard", leaderboard, "--submitter", submitter, *which]
        if not wait:
            options.append("--no-wait")
        receipt: dict[str, Any] = json.loads(run(["submit", benchmark, *options, str(path)]))
        return receipt


def _written(benchmark: str, artifact: Artifact, directory: Path, name: str) -> Path:
    if not name or name in (".", "..") or len(name) > 200 or any(sign in name for sign in "/\\\0"):
        raise ValueError(f"`name` is a file's name of at most 200 characters without `/`, `\\` and NUL, not {name[:40]!r}")
    content, suffix = to_file(benchmark, artifact)
    path = directory / f"{name}{suffix}"
    path.write_bytes(content)
    return path
