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


@dataclass(frozen=True)
class Valid:
    """An artifact that obeys the rules."""

    benchmark: str
    """The benchmark's id."""
    leaderboard: str
    """The board, or the kind of file."""
    document: Mapping[str, Any] = field(repr=False)
    """What the command printed; of a file of lines the outcome of each line."""
    raw: bytes = field(repr=False)
    """The same, byte for byte."""


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

    def validate(self, leaderboard: str, artifact: Artifact) -> Valid:
        """Checks an artifact's form and rules without scoring it; raises `Rejected` with every reason. Where lines are collected, the
        kind of file will do for the leaderboard, such as `submit`; what only the cloud knows of them is not checked."""
        raw = self._judge("validate", leaderboard, artifact)
        return Valid(self.benchmark, leaderboard, json.loads(raw), raw)

    def score(self, leaderboard: str, artifact: Artifact) -> Verdict:
        """Scores an artifact as the cloud does. A kit scores on its public test set, if it has one; raises `Rejected`, or
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
            manifest = json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))
            path = _written(self.benchmark, artifact, Path(scratch), "artifact", manifest["parameters"].get("labels"))
            where = ["--leaderboard", leaderboard, "--dataset", str(self.directory)]
            return run([command, self.benchmark, *where, str(path)])


def submit(
    benchmark: str,
    leaderboard: str,
    artifact: Artifact,
    submitter: Optional[str] = None,
    *,
    token: Optional[str] = None,
    name: str = "artifact",
    wait: bool = True,
    cloud: Union[str, Sequence[str], None] = None,
) -> dict[str, Any]:
    """Uploads an artifact and gives its receipt, or with `wait=False` what was uploaded; raises `Rejected` with every reason.

    `token` is the token that the organizer sent you, and `cloud` the address of the contest's page. Without them, what `dataperf login` has
    stored is used, or the variables `DATAPERF_TOKEN` and `DATAPERF_CLOUD`. Without a token, give `submitter` and use AWS keys.

    `name` is the file's name without its end. `cloud` is what the command's `--cloud` takes: the address of a page, `"local"`, `"aws"`, or a
    profile; or a list of the command's options, such as `["--submissions-bucket", "spring-submissions"]`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = _written(benchmark, artifact, Path(scratch), name)
        which = ["--cloud", cloud] if isinstance(cloud, str) else list(cloud or [])
        whose = [] if submitter is None else ["--submitter", submitter]
        options = ["--leaderboard", leaderboard, *whose, *which]
        if not wait:
            options.append("--no-wait")
        # not an option: other people on this machine can read the options of a command
        secret = {} if token is None else {"DATAPERF_TOKEN": token}
        receipt: dict[str, Any] = json.loads(run(["submit", benchmark, *options, str(path)], secret))
        return receipt


def _written(benchmark: str, artifact: Artifact, directory: Path, name: str, labels: Optional[str] = None) -> Path:
    if not name or name in (".", "..") or len(name) > 200 or any(sign in name for sign in "/\\\0"):
        raise ValueError(f"`name` is a file's name of at most 200 characters without `/`, `\\` and NUL, not {name[:40]!r}")
    content, suffix = to_file(benchmark, artifact, labels)
    path = directory / f"{name}{suffix}"
    path.write_bytes(content)
    return path
