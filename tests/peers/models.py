#!/usr/bin/env python3
"""Fit the models of own data to random problems, here and with scikit-learn 1.2.2 and XGBoost 1.7.6, and compare what is
predicted of every item.

Everything follows from the seeds, so a difference can be made again. Where an item is predicted differently, the library is
asked again with the sums of older processors, with one thread, and up to 40 times with training rows whose every number is moved
by one unit in its last place. An item on which it contradicts itself has no reference prediction and is counted apart, and so is one whose
nearest rows or centroids are equally far but for rounding.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC
from xgboost import XGBClassifier

N_NUDGES = 40  # at most
OTHERS = [{"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}]
if platform.machine() == "x86_64":
    OTHERS += [{"OPENBLAS_CORETYPE": kernel} for kernel in ("Haswell", "Prescott")]
TIE = 1e-9  # distances that differ by less, beside themselves, are in the order of rounding
KINDS = ["blobs", "correlated", "few values", "constant columns", "copies", "one example", "32-bit floats", "overlapping", "gaps"]


@dataclass
class Problem:
    seed: int
    kind: str
    n_classes: int
    n_features: int
    n_rows: int
    n_items: int = 300
    scale: float = 1.0

    def make(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Training rows, items and labels."""
        rng = np.random.default_rng(self.seed)
        n = self.n_rows + self.n_items
        y = rng.integers(0, self.n_classes, n)
        y[: min(self.n_classes, self.n_rows)] = np.arange(min(self.n_classes, self.n_rows))
        rng.shuffle(y[: self.n_rows])
        if self.kind == "one example":
            common = y[: self.n_rows] % 2
            common[: max(0, self.n_classes - 2)] = np.arange(2, self.n_classes)[: self.n_rows]
            y[: self.n_rows] = common
        spread = 4.0 if self.kind == "overlapping" else 1.5
        centres = rng.normal(size=(self.n_classes, self.n_features))
        x = centres[y] + spread * rng.normal(size=(n, self.n_features))
        if self.kind == "correlated":
            latent = min(8, self.n_features)
            x = (centres[y][:, :latent] + rng.normal(size=(n, latent))) @ rng.normal(size=(latent, self.n_features)) + 0.05 * x
        elif self.kind == "few values":
            x = np.round(x)
        elif self.kind == "constant columns":
            x[:, ::2] = 3.25
        elif self.kind == "copies":
            x[: self.n_rows] = x[rng.integers(0, max(2, self.n_rows // 3), self.n_rows)]
        elif self.kind == "32-bit floats":
            x = x.astype(np.float32).astype(np.float64)
        elif self.kind == "gaps":
            y = y * 2 + 3
        x = x * self.scale
        return x[: self.n_rows].copy(), x[self.n_rows :].copy(), y[: self.n_rows].copy()

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.kind}, {self.n_classes} classes, {self.n_rows} x {self.n_features}, scale {self.scale}"


def reference(learner: dict, x: np.ndarray, items: np.ndarray, y: np.ndarray, seeds: list[int]) -> np.ndarray:
    """What the libraries predict, `(n_seeds, n_items)`."""
    kind, n_seeds = learner["kind"], len(seeds)
    classes, local = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        return np.full((n_seeds, len(items)), classes[0])
    if kind == "soft_voting":
        logistic, svc = learner.get("logistic", {}), learner.get("svc", {})
        voters = lambda seed: [("svm", SVC(probability=True, random_state=seed, **svc)), ("lr", LogisticRegression(random_state=seed, **logistic))]
        return np.array([VotingClassifier(voters(seed), voting="soft").fit(x, y).predict(items) for seed in seeds])
    given = {name: value for name, value in learner.items() if name != "kind"}
    if kind == "gradient_boosting":
        return np.tile(classes[XGBClassifier().fit(x, local).predict(items)], (n_seeds, 1))
    model = {
        "logistic_regression": lambda: LogisticRegression(**given),
        "svc": lambda: SVC(**given),
        "k_nearest": lambda: KNeighborsClassifier(n_neighbors=learner["k"]),
        "nearest_centroid": NearestCentroid,
    }[kind]()
    return np.tile(model.fit(x, y).predict(items), (n_seeds, 1))


def tied(learner: dict, x: np.ndarray, items: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
    """For each of some items whether rounding decides which rows or centroids are nearest."""
    kind = learner["kind"]
    if kind == "nearest_centroid":
        points, k = np.array([x[y == c].mean(axis=0) for c in np.unique(y)]), 1
    elif kind == "k_nearest":
        points, k = x, learner["k"]
    else:
        return np.zeros(len(which), bool)
    if k >= len(points):
        return np.zeros(len(which), bool)
    result = []
    for item in items[which]:
        nearest = np.sort(((points - item) ** 2).sum(axis=1))
        result.append(nearest[k] - nearest[k - 1] <= TIE * nearest[k])
    return np.array(result)


def asked_again(job: dict, arrays: dict, scratch: Path) -> list[np.ndarray]:
    """What the library predicts with other sums."""
    np.savez(scratch / "again.npz", **arrays)
    (scratch / "again.json").write_text(json.dumps(job))
    answers = []
    for other in OTHERS:
        call = [sys.executable, __file__, "--again", str(scratch)]
        ran = subprocess.run(call, env=os.environ | other, capture_output=True, text=True, check=True)
        answers.append(np.array(json.loads(ran.stdout)))
    return answers


@dataclass
class Tally:
    problems: int = 0
    predictions: int = 0
    tied: int = 0
    undetermined: int = 0
    differing: int = 0
    unequal_problems: int = 0
    ours_s: float = 0.0
    theirs_s: float = 0.0
    refused: list[str] = field(default_factory=list)


@dataclass
class Job:
    problem: Problem
    learner: dict
    seeds: list[int]


def learners(problem: Problem, rng: np.random.Generator) -> list[tuple[dict, list[int]]]:
    """The models that a problem of this size is for, with parameters."""
    n, k, d = problem.n_rows, problem.n_classes, problem.n_features
    pick = lambda *values: values[rng.integers(len(values))]
    linear = "linear" if problem.scale <= 1 else "rbf"  # LIBSVM takes hours to part large overlapping rows by a plane
    chosen = []
    if n * d * k <= 40_000_000:
        chosen.append({"kind": "logistic_regression", "C": pick(1.0, 1.0, 0.01, 100.0), "max_iter": pick(100, 100, 20, 500), "tol": pick(1e-4, 1e-4, 1e-2)})
    if n <= 3_000:
        chosen.append({"kind": "svc", "kernel": pick("rbf", "rbf", linear), "C": pick(1.0, 1.0, 0.1, 10.0), "tol": pick(1e-3, 1e-3, 1e-2)})
    if n <= 600 and k <= 30 or n <= 250:
        svc = pick({}, {}, {"kernel": linear}, {"C": 3.0, "tol": 1e-2})
        logistic = pick({}, {}, {"C": 0.1}, {"max_iter": 300})
        chosen.append({"kind": "soft_voting", "logistic": logistic, "svc": svc})
    if k == 2 and n * d <= 10_000_000:
        chosen.append({"kind": "gradient_boosting"})
    chosen.append({"kind": "k_nearest", "k": int(min(n, pick(1, 3, 5, 5, 9, 20)))})
    chosen.append({"kind": "nearest_centroid"})
    seeds = [int(seed) for seed in rng.integers(0, 2**32, 2)]
    return [(learner, seeds if learner["kind"] == "soft_voting" else [0]) for learner in chosen]


def problems(size: str, first_seed: int) -> list[Problem]:
    quick, full = 27, 500
    made = []
    for seed in range(first_seed, first_seed + (quick if size == "quick" else full)):
        rng = np.random.default_rng([seed, 1])
        n_classes = int(rng.choice([2, 2, 2, 3, 5, 10, 25, 100], p=[0.2, 0.2, 0.1, 0.15, 0.15, 0.1, 0.06, 0.04]))
        n_features = int(rng.choice([2, 3, 7, 16, 40, 64, 256, 1024, 4096], p=[0.1, 0.05, 0.1, 0.15, 0.1, 0.2, 0.2, 0.06, 0.04]))
        n_rows = int(rng.choice([10, 30, 50, 120, 300, 511, 800, 2500], p=[0.1, 0.15, 0.15, 0.2, 0.15, 0.1, 0.1, 0.05]))
        n_rows = max(n_rows, n_classes + 1)
        made.append(Problem(seed, KINDS[seed % len(KINDS)], n_classes, n_features, n_rows, scale=float(rng.choice([1.0, 1.0, 0.02, 30.0]))))
    if size == "full":
        sizes = [(2, 20, 20_000), (5, 32, 30_000), (2, 8, 100_000), (10, 64, 10_000), (3, 128, 8_000), (2, 256, 5_000)]
        made += [Problem(first_seed + 10_000 + k, KINDS[k % 9], *shape, n_items=2_000) for k, shape in enumerate(sizes * 2)]
    return made


def run_ours(program: Path, jobs: list[Job], scratch: Path) -> list[tuple[np.ndarray | None, float, str]]:
    cases = []
    for at, job in enumerate(jobs):
        x, items, y = job.problem.make()
        names = {part: scratch / f"{at}.{part}" for part in ("train", "items", "labels", "predictions")}
        names["train"].write_bytes(x.tobytes())
        names["items"].write_bytes(items.tobytes())
        names["labels"].write_bytes(y.astype(np.uint8).tobytes())
        cases.append({"learner": job.learner, "n_features": x.shape[1], "seeds": job.seeds, **{part: str(path) for part, path in names.items()}})
    (scratch / "cases.json").write_text(json.dumps(cases))
    ran = subprocess.run([program, scratch / "cases.json"], capture_output=True, text=True, check=True)
    answers = []
    for at, (job, line) in enumerate(zip(jobs, ran.stdout.splitlines(), strict=True)):
        if line.startswith("error"):
            answers.append((None, 0.0, line))
        else:
            path = scratch / f"{at}.predictions"
            answers.append((np.frombuffer(path.read_bytes(), np.uint8).reshape(len(job.seeds), -1), float(line), ""))
        for part in ("train", "items", "labels", "predictions"):
            (scratch / f"{at}.{part}").unlink(missing_ok=True)
    return answers


def compare(job: Job, ours: np.ndarray, tally: Tally, scratch: Path) -> None:
    x, items, y = job.problem.make()
    began = time.perf_counter()
    theirs = reference(job.learner, x, items, y, job.seeds)
    tally.theirs_s += time.perf_counter() - began
    tally.problems += 1
    tally.predictions += theirs.size
    differs = ours != theirs
    if not differs.any():
        return
    ties = np.zeros(differs.shape, bool)
    which = np.flatnonzero(differs.any(axis=0))
    ties[:, which] = tied(job.learner, x, items, y, which)
    tally.tied += int((differs & ties).sum())
    differs &= ~ties
    if differs.any():
        answers = asked_again({"learner": job.learner, "seeds": job.seeds}, {"x": x, "items": items, "y": y}, scratch)
        contradicted = np.any([answer != theirs for answer in answers], axis=0)
        for nudge in range(N_NUDGES):
            if contradicted[differs].all():
                break
            nudged = np.nextafter(x, np.random.default_rng(nudge).choice([-np.inf, np.inf], x.shape))
            contradicted |= reference(job.learner, nudged, items, y, job.seeds) != theirs
        tally.undetermined += int((differs & contradicted).sum())
        differs &= ~contradicted
    if differs.any():
        tally.differing += int(differs.sum())
        tally.unequal_problems += 1
        print(f"DIFFERS  {int(differs.sum())} of {differs.size}: {job.learner}, {job.problem}", flush=True)


def again(scratch: Path) -> None:
    job, arrays = json.loads((scratch / "again.json").read_text()), np.load(scratch / "again.npz")
    print(json.dumps(reference(job["learner"], arrays["x"], arrays["items"], arrays["y"], job["seeds"]).tolist()))


SPEED = [  # of own data: a selection of 50 rows, and a debugging curve of 300 label vectors
    ("50 rows, 2,000 items", Problem(1, "blobs", 5, 256, 50, n_items=2_000), 1, ["logistic_regression", "svc", "soft_voting", "k_nearest", "nearest_centroid"]),
    ("50 rows, 2,000 items", Problem(2, "blobs", 2, 256, 50, n_items=2_000), 1, ["gradient_boosting"]),
    ("300 rows, 300 label vectors", Problem(3, "blobs", 2, 256, 300, n_items=2_000), 300, ["logistic_regression"]),
]


def reference_process(scratch: Path) -> None:
    """What `examples/learn` does, as a process of the library."""
    case = json.loads((scratch / "cases.json").read_text())[0]
    read = lambda part, dtype: np.frombuffer(Path(case[part]).read_bytes(), dtype)
    x, items = (read(part, np.float64).reshape(-1, case["n_features"]) for part in ("train", "items"))
    began = time.perf_counter()
    for labels in read("labels", np.uint8).reshape(-1, len(x)):
        reference(case["learner"], x, items, labels.astype(np.int64), case["seeds"])
    print(time.perf_counter() - began)


def timed(*command: object) -> tuple[float, float]:
    """Wall time and processor time of a process, in seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(part) for part in command], capture_output=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(program: Path, rounds: int = 5) -> None:
    """Whole processes in turn, the library's with its imports. The first run of each is not counted, medians are told."""
    print(f"{'':<28} {'':<20} {'ours: wall':>12} {'cpu':>10} {'theirs: wall':>14} {'cpu':>10}")
    for name, problem, n_vectors, kinds in SPEED:
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                scratch = Path(folder)
                x, items, y = problem.make()
                flips = np.random.default_rng(4)
                labels = np.array([np.where(flips.random(len(y)) < 0.2 * k / n_vectors, (y + 1) % problem.n_classes, y) for k in range(n_vectors)])
                files = {"train": x, "items": items, "labels": labels.astype(np.uint8)}
                for part, array in files.items():
                    (scratch / part).write_bytes(array.tobytes())
                learner = {"kind": kind, "k": 5} if kind == "k_nearest" else {"kind": kind}
                paths = {part: str(scratch / part) for part in (*files, "predictions")}
                (scratch / "cases.json").write_text(json.dumps([{"learner": learner, "n_features": x.shape[1], "seeds": [7], **paths}]))
                calls = {"ours": [program, scratch / "cases.json"], "theirs": [sys.executable, __file__, "--reference", scratch]}
                runs = [[timed(*calls[who]) for who in ("ours", "theirs")] for _ in range(rounds + 1)]
                (wall, cpu), (their_wall, their_cpu) = np.median(np.array(runs[1:]), axis=0) * 1000
            print(
                f"{name:<28} {kind:<20} {wall:9.1f} ms {cpu:7.1f} ms {their_wall:11.1f} ms {their_cpu:7.1f} ms  "
                f"{their_wall / wall:.0f} times, {their_cpu / cpu:.0f} times less processor time",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="the directory with `examples/learn`")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", help="one kind of model")
    parser.add_argument("--speed", action="store_true", help="compare times instead of predictions")
    parser.add_argument("--reference", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.again:
        again(args.again)
        return 0
    if args.reference:
        reference_process(args.reference)
        return 0
    if args.speed:
        speed(args.bin / "examples/learn")
        return 0
    jobs = []
    for problem in problems(args.size, args.first_seed):
        rng = np.random.default_rng([problem.seed, 2])
        jobs += [Job(problem, learner, seeds) for learner, seeds in learners(problem, rng) if args.only in (None, learner["kind"])]
    tallies: dict[str, Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory() as scratch:
        for begin in range(0, len(jobs), 50):
            part = jobs[begin : begin + 50]
            for job, (ours, seconds, error) in zip(part, run_ours(args.bin / "examples/learn", part, Path(scratch)), strict=True):
                tally = tallies[job.learner["kind"]]
                tally.ours_s += seconds
                if ours is None:
                    tally.refused.append(f"{job.problem}: {error}")
                else:
                    compare(job, ours, tally, Path(scratch))
    print(f"{'model':<20} problems predictions  tied  contradicted  DIFFERING (problems)  ours s  theirs s")
    for kind, tally in sorted(tallies.items()):
        print(
            f"{kind:<20} {tally.problems:8} {tally.predictions:11} {tally.tied:5} {tally.undetermined:13} "
            f"{tally.differing:9} ({tally.unequal_problems}) {tally.ours_s:15.2f} {tally.theirs_s:9.2f}"
        )
        for refused in tally.refused[:5]:
            print(f"  refused: {refused}")
    differing = sum(tally.differing for tally in tallies.values())
    refused = sum(len(tally.refused) for tally in tallies.values())
    return int(differing > 0 or refused > 0)


if __name__ == "__main__":
    sys.exit(main())
