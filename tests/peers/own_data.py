#!/usr/bin/env python3
"""Make random contests of own data, and score them with `dataperf score` and with scikit-learn 1.2.2 and XGBoost 1.7.6.

Each contest is a folder as an organizer writes it: a document, features in one of the forms, examples. It is imported, an artifact is
scored by both, and the two scores are compared. Everything follows from the seeds, so that a difference can be made again.

The logistic regression stops after its iterations, wherever it is; on ill-conditioned data the last bits of OpenBLAS's sums have then grown
into other predictions, and scikit-learn differs from itself between processors. Where ours differs, scikit-learn is asked again
with the sums of older processors. Of neighbours at one distance the search of scikit-learn takes whichever it comes upon; where ours
differ, it is asked again with the training rows in reverse order. A contest on which it contradicts itself has no reference score and is counted apart.
"""

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from checks import Checks

REFERENCE = Path(__file__).resolve().parents[2] / "shared/benchmarks/own_data/recipe/reference.py"
TOLERANCE = 1e-9
OTHER_KERNELS = [{"OPENBLAS_CORETYPE": kernel} for kernel in ("Haswell", "Prescott") if platform.machine() == "x86_64"]
# how the reference is asked again, by the model's kind
OTHER_WAYS = {
    "logistic_regression": OTHER_KERNELS, "soft_voting": OTHER_KERNELS,
    "k_nearest": [{"REVERSED": "1"}],
}
MAX_UNDETERMINED = 0.05
MODELS = ["logistic_regression", "svc", "svc linear", "soft_voting", "gradient_boosting", "k_nearest", "nearest_centroid"]
METRICS = ["accuracy", "balanced_accuracy", "macro_f1", "f1", "worst_group_accuracy"]


def model(kind, rng):
    if kind == "logistic_regression":
        return {"kind": kind, "C": float(rng.choice([0.01, 1.0, 30.0])), "max_iter": int(rng.choice([5, 100, 300])), "tol": float(rng.choice([1e-2, 1e-4]))}
    if kind.startswith("svc"):
        kernel = "linear" if kind.endswith("linear") else "rbf"
        return {"kind": "svc", "kernel": kernel, "C": float(rng.choice([0.1, 1.0, 10.0])), "tol": float(rng.choice([1e-2, 1e-3]))}
    if kind == "k_nearest":
        return {"kind": kind, "k": int(rng.choice([1, 3, 5]))}
    return {"kind": kind} if rng.random() < 0.5 else kind


class Data:
    """Rows of some classes, that overlap."""

    def __init__(self, rng, n_classes, width):
        self.rng, self.n_classes, self.width = rng, n_classes, width
        self.centres = rng.normal(size=(n_classes, width)) * rng.choice([0.5, 1.0])
        self.kind = rng.choice(["float64", "float32", "float16", "int8", "constant columns", "ties"])

    def rows(self, n, at_least_one=True):
        y = self.rng.integers(self.n_classes, size=n)
        if at_least_one:
            y[: self.n_classes] = self.rng.permutation(self.n_classes)
        x = self.centres[y] + self.rng.normal(size=(n, self.width))
        if self.kind == "constant columns":
            x[:, :: 3] = 0.25
        if self.kind == "ties":
            x = np.round(x)
        if self.kind == "int8":
            x = np.round(8 * x).clip(-128, 127)
        return x.astype({"float32": np.float32, "float16": np.float16, "int8": np.int8}.get(self.kind, np.float64)), y


def write(folder, name, x, columns, form):
    """Writes features and examples in one of the forms, and gives what the document says."""
    if form == "parquet" and x.dtype in (np.float32, np.float64):
        table = pa.table({**columns, "features": list(x)})
        pq.write_table(table, folder / f"{name}.parquet")
        return f"{name}.parquet"
    if form == "csv":
        with open(folder / f"{name}-x.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"f{k}" for k in range(x.shape[1])])
            writer.writerows([[repr(float(v)) for v in row] for row in x])
        features = f"{name}-x.csv"
    else:
        np.save(folder / f"{name}.npy", np.asfortranarray(x) if form == "fortran" else x)
        features = f"{name}.npy"
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    return {"features": features, "examples": f"{name}.csv"}


def contest(folder, task, kind, metric, seed, size):
    """Writes a contest and an artifact; gives the artifact."""
    rng = np.random.default_rng((seed, MODELS.index(kind), METRICS.index(metric), len(task)))
    n_classes = 2 if kind == "gradient_boosting" else int(rng.choice([2, 3, 5, 12]))
    width = int(rng.choice([2, 7, 30, 128]))
    classes = [f"class {k}" for k in rng.permutation(n_classes)]
    data = Data(rng, n_classes, width)
    form = rng.choice(["npy", "fortran", "csv", "parquet"])
    names = lambda y: [classes[k] for k in y]
    x, y = data.rows(int(rng.choice([60, 200])) + n_classes)
    groups = [f"g{k}" for k in rng.integers(3, size=len(x))]
    document = {
        "schema": 1, "task": task, "title": "a random contest", "classes": classes, "model": model(kind, rng), "allow_duplicates": True,
        "metric": {"kind": "f1", "class": classes[0]} if metric == "f1" else metric,
        "eval": write(folder, "eval", x, {"id": [f"e{k}" for k in range(len(x))], "label": names(y), "group": groups}, form),
    }
    if kind == "soft_voting" and task == "selection":
        document["seeds"] = [int(s) for s in rng.choice(100, size=3, replace=False)]
    artifact = {
        "selection": selection, "debugging": debugging, "acquisition": acquisition, "curation": curation,
    }[task](folder, document, data, names, form, rng, size)
    (folder / "task.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    if isinstance(artifact, str):
        (folder / "artifact.csv").write_text(artifact)
        if form == "parquet":
            label, *numbers = zip(*csv.reader(artifact.splitlines()))
            columns = {name: [float(value) for value in values] for name, *values in numbers}
            pq.write_table(pa.table({label[0]: label[1:], **columns}), folder / "set.parquet")
    else:
        (folder / "artifact.json").write_text(json.dumps(artifact))
    return document


def artifact_of(folder):
    return next(folder.glob("artifact.*"))


def curation(folder, document, data, names, form, rng, size):
    """A start set, and an artifact with another number of rows and perhaps without a class."""
    def as_csv(x, y):
        header = ",".join(["label"] + [f"f{k}" for k in range(x.shape[1])])
        return "\n".join([header] + [",".join([names([k])[0], *(repr(float(v)) for v in row)]) for row, k in zip(x, y)]) + "\n"

    (folder / "start.csv").write_text(as_csv(*data.rows(40 + data.n_classes)))
    document.update(leaderboards=[{"name": "board", "max_examples": 500}], start="start.csv")
    x, y = data.rows(int(rng.choice([30, 150])) + data.n_classes)
    keep = y != 0 if data.n_classes > 2 and rng.random() < 0.4 else y >= 0
    return as_csv(x[keep], y[keep])


def selection(folder, document, data, names, form, rng, size):
    n_pool = 300 if size == "quick" else int(rng.choice([300, 5000]))
    x, y = data.rows(n_pool)
    ids = [f"row {k}" for k in range(n_pool)]
    n = int(rng.choice([data.n_classes + 6, 50, 120]))
    document["leaderboards"] = [{"name": "board", "max_examples": n}]
    own = bool(rng.random() < 0.3)
    columns = {"id": ids} if own else {"id": ids, "label": names(y)}
    document["pool"] = write(folder, "pool", x, columns, form)
    firsts = [int(np.flatnonzero(y == k)[0]) for k in range(data.n_classes)]
    others = [int(k) for k in rng.permutation(n_pool) if k not in firsts][: n - len(firsts)]
    rows = [int(k) for k in rng.permutation(firsts + others)]
    if own:
        document["labels"] = "submission"
        labels = y.copy()
        labels[others[:3]] = 0  # a submitter may be wrong
        return {"labels": {ids[k]: names([labels[k]])[0] for k in rows}}
    return {"ids": [ids[k] for k in rows]}


def debugging(folder, document, data, names, form, rng, size):
    n = max(40, 2 * data.n_classes) if size == "quick" else int(rng.choice([60, 200]))
    x, y = data.rows(n)
    given = np.where(rng.random(n) < 0.25, rng.integers(data.n_classes, size=n), y)
    given[0] = (y[0] + 1) % data.n_classes
    if rng.random() < 0.3:
        given[:] = given[0]  # one class at the beginning
    ids = [f"row {k}" for k in range(n)]
    document["leaderboards"] = [{"name": "board"}]
    document["target_share"] = float(rng.choice([0.8, 0.95, 1.0]))
    if rng.random() < 0.4:
        document["curve"] = "until_target"
    document["train"] = write(folder, "train", x, {"id": ids, "given": names(given), "truth": names(y)}, form)
    return {"order": [ids[k] for k in rng.permutation(n)]}


def acquisition(folder, document, data, names, form, rng, size):
    sellers, prices, counts = {}, {}, {}
    for k in range(int(rng.choice([2, 4]))):
        n = int(rng.integers(20, 80)) + data.n_classes
        x, y = data.rows(n, at_least_one=k == 0)
        if k == 1:
            y[:] = y[0]  # a seller of one class
        seller = f"seller {9 - k}"
        sellers[seller] = write(folder, f"s{k}", x, {"label": names(y)}, form)
        prices[seller] = float(rng.integers(1, 100))
        counts[seller] = int(rng.integers(0, n))
    first = next(iter(counts))
    counts[first] = max(counts[first], 12)
    document.update(leaderboards=[{"name": "board"}], sellers=sellers, prices=prices, budget=1000.0, trials=3 if size == "quick" else 10)
    if rng.random() < 0.5:
        document["seed"] = int(rng.integers(1000))
    return {"counts": {s: n for s, n in counts.items() if n > 0}}


def reference(folder, **other):
    env = dict(os.environ, **other)
    ran = subprocess.run([sys.executable, REFERENCE, "score", folder, artifact_of(folder)], capture_output=True, text=True, env=env, check=False)
    if ran.returncode != 0:
        raise RuntimeError(f"{folder}: {ran.stderr}")
    return float(ran.stdout)


def ours(dataperf, task, folder):
    frozen = folder / "frozen"
    parquet = folder / "set.parquet"  # stands for the CSV that the reference reads
    artifact = parquet if parquet.exists() else artifact_of(folder)
    for command in [
        [dataperf, "dataset", "import", task, "--from", folder, "--out", frozen],
        [dataperf, "score", task, "--leaderboard", "board", "--dataset", frozen, artifact, "--format", "json"],
    ]:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{folder}: {command[1:3]}: {ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)["score"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    parser.add_argument("--seed", type=int, default=None, help="only contests of this seed")
    args = parser.parse_args()
    checks, undetermined, n = Checks(), [], 0
    seeds = [args.seed] if args.seed is not None else range(1 if args.size == "quick" else 12)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in seeds:
            for task in ["selection", "debugging", "acquisition", "curation"]:
                for idx, kind in enumerate(MODELS):
                    # every model with every metric in a full run; in a quick one each metric with some model
                    metrics = METRICS if args.size == "full" else [METRICS[(idx + len(task) + seed) % len(METRICS)]]
                    for metric in metrics:
                        folder = Path(scratch) / f"{task}-{kind.replace(' ', '-')}-{metric}-{seed}"
                        folder.mkdir()
                        contest(folder, task, kind, metric, seed, args.size)
                        n += 1
                        theirs, own = reference(folder), ours(args.bin / "dataperf", task, folder)
                        if abs(theirs - own) > TOLERANCE:
                            others = [reference(folder, **other) for other in OTHER_WAYS.get(kind, [])]
                            if any(abs(other - theirs) > TOLERANCE for other in others):
                                undetermined.append(folder.name)
                                continue
                        checks(folder.name, abs(theirs - own) <= TOLERANCE, f"{own} and {theirs}" if abs(theirs - own) > TOLERANCE else own)
    checks("contests on which scikit-learn contradicts itself are few", len(undetermined) <= max(1, MAX_UNDETERMINED * n), undetermined)
    print(f"{checks.n - len(checks.failed)} of {checks.n} agree; {len(undetermined)} of {n} contests have no reference score")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
