#!/usr/bin/env python3
"""Score random data sets of Debugging for Vision with `dataperf score` and with XGBoost, and compare every step.

Each data set is made in the public layout, with tasks of shapes that are easy to get wrong, imported, and used for
some orders. XGBoost fits anew wherever a fix changes a label. There is no tolerance: the same accuracy at every
step, the same step that reaches the target, the same score.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xgboost

TARGET_SHARE = 0.95


@dataclass
class Shape:
    """How a random task is made."""

    name: str
    seed: int
    features: str
    n_train: int = 60
    width: int = 40
    n_test: int = 40
    wrong: float = 0.3


def vectors(shape: Shape, rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    signal = rng.normal(size=shape.width) * (rng.random(shape.width) < 0.3)
    dense = rng.normal(size=(len(y), shape.width)) + np.where(y, 0.7, -0.7)[:, None] * signal
    made = {
        "dense": lambda: dense,
        "rectified": lambda: np.maximum(dense, 0),
        "sparse": lambda: np.where(rng.random(dense.shape) < 0.9, 0, dense),
        "few values": lambda: np.round(dense),
        "constant columns": lambda: np.where(np.arange(shape.width) % 3 > 0, 0.25, dense),
        "equal images": lambda: dense[np.arange(len(y)) // 2],
        "constant": lambda: np.ones_like(dense),
    }[shape.features]()
    return made.astype(np.float32)


def shapes(size: str) -> list[Shape]:
    kinds = ["dense", "rectified", "sparse", "few values", "constant columns", "equal images", "constant"]
    quick = [Shape(f"{kind.replace(' ', '-')}{'-flipped' * (k % 2)}", k, kind) for k, kind in enumerate(kinds)]
    quick += [
        Shape("wide", 20, "rectified", n_train=100, width=300),
        Shape("tiny", 21, "dense", n_train=5, width=3, n_test=7),
        Shape("all-right", 22, "dense", n_train=30, wrong=0.0),
        Shape("many", 23, "few values", n_train=511, width=12, n_test=33, wrong=0.05),
    ]
    if size == "quick":
        return quick
    full = list(quick)
    for seed in range(100, 130):
        rng = np.random.default_rng(seed)
        full.append(Shape(f"random{seed}", seed, kinds[seed % 6], int(rng.integers(2, 300)), int(rng.choice([1, 8, 64, 500])), int(rng.integers(1, 300)), float(rng.random() / 2)))
    return [*full, Shape("of-full-size", 200, "rectified", n_train=300, width=2048, n_test=500), Shape("of-full-size-flipped", 201, "dense", n_train=300, width=2048, n_test=500)]


class Task:
    def __init__(self, shape: Shape):
        self.shape, rng = shape, np.random.default_rng(shape.seed)
        n = shape.n_train + shape.n_test
        y = rng.random(n) < 0.5
        self.x = vectors(shape, rng, y)
        self.truth, self.test_y = y[: shape.n_train].astype(int), y[shape.n_train :].astype(int)
        self.labels = self.truth.copy()
        hit = rng.choice(shape.n_train, int(shape.wrong * shape.n_train), replace=False)
        self.labels[hit] = 1 - self.labels[hit] if shape.name.endswith("flipped") else rng.integers(0, 2, len(hit))
        wrong = self.labels != self.truth
        self.orders = {
            "random": rng.permutation(shape.n_train),
            "wrong ones first": np.r_[np.flatnonzero(wrong), np.flatnonzero(~wrong)],
            "wrong ones last": np.r_[np.flatnonzero(~wrong), np.flatnonzero(wrong)],
        }
        self.known: dict[bytes, float] = {}

    def write(self, root: Path) -> None:
        (root / "embeddings").mkdir(parents=True, exist_ok=True)
        (root / "data").mkdir(exist_ok=True)
        n = self.shape.n_train
        names = [f"{self.shape.name}-{k:05d}" for k in range(len(self.x))]
        for part, rows, labels in (("train_0.3", slice(0, n), self.labels), ("test", slice(n, None), self.test_y)):
            table = {"filename": names[rows], "encoding": pa.array(list(self.x[rows]), pa.list_(pa.float32())), "label": labels}
            pq.write_table(pa.table(table), root / f"embeddings/{self.shape.name}_{part}_{len(labels)}.parquet", row_group_size=17)
        truth = pd.DataFrame({"ImageID": names[:n], "hv_label": self.truth}).sample(frac=1, random_state=1)
        truth.to_csv(root / f"data/dataset_{self.shape.name}_train.csv", index=False)

    def accuracy(self, labels: np.ndarray) -> float:
        """The same labels give the same model: each is fitted once."""
        if (found := self.known.get(labels.tobytes())) is None:
            n = self.shape.n_train
            # what XGBClassifier does, which refuses labels that are all 1
            fitted = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(self.x[:n], label=labels), 100)
            found = float(((fitted.predict(xgboost.DMatrix(self.x[n:])) > 0.5) == self.test_y).mean())
            self.known[labels.tobytes()] = found
        return found

    def curve(self, order: np.ndarray) -> list[float]:
        labels, steps = self.labels.copy(), []
        for image in order:
            labels[image] = self.truth[image]
            steps.append(self.accuracy(labels))
        return steps


def first_step(steps: list[float]) -> int:
    rounded = [round(step, 2) for step in steps]
    return next(k for k, step in enumerate(rounded) if step >= TARGET_SHARE * rounded[-1])


def run(program: Path, *args: object) -> dict:
    ran = subprocess.run([program, "--format", "json", *map(str, args)], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"error: `dataperf {' '.join(map(str, args))}` ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


def compare_trees(first_seed: int) -> int:
    """Every node of every tree and every margin of models that nobody has seen, by the test of the committed ones."""
    numerics = Path(__file__).resolve().parents[2] / "shared/numerics"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as made:
        subprocess.run([sys.executable, numerics / "tests/conformance/make_boosted_tree_vectors.py", str(first_seed)], stdout=made, check=True)
        test = ["cargo", "test", "--quiet", "--package", "dataperf-numerics", "--test", "conformance", "trees_and_margins"]
        return subprocess.run(test, cwd=numerics, env={**os.environ, "DATAPERF_TREE_VECTORS": made.name}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory of `dataperf`")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    args = parser.parse_args()
    by_width: dict[int, list[Task]] = {}
    for shape in shapes(args.size):
        by_width.setdefault(shape.width, []).append(Task(shape))
    differing, n_steps, n_orders, ours_s, theirs_s = [], 0, 0, 0.0, 0.0
    for tasks in by_width.values():
        with tempfile.TemporaryDirectory() as scratch:
            root, frozen, path = Path(scratch) / "public", Path(scratch) / "frozen", Path(scratch) / "orders.json"
            for task in tasks:
                task.write(root)
            run(args.bin / "dataperf", "dataset", "import", "vision-debugging", "--from", root, "--out", frozen)
            for name in tasks[0].orders:
                path.write_text(json.dumps({task.shape.name: task.orders[name].tolist() for task in tasks}))
                began = time.perf_counter()
                verdict = run(args.bin / "dataperf", "score", "vision-debugging", "-l", "open", "-d", frozen, path)
                between, fractions = time.perf_counter(), []
                for task in tasks:
                    steps, ours = task.curve(task.orders[name]), verdict["metrics"]["tasks"][task.shape.name]
                    first = first_step(steps)
                    fractions.append(first / len(steps))
                    n_steps, n_orders = n_steps + len(steps), n_orders + 1
                    if ours["accuracy"] != steps or ours["first_step"] != first or ours["accuracy_before"] != task.accuracy(task.labels):
                        where = next((k for k, (a, b) in enumerate(zip(ours["accuracy"], steps)) if a != b), None)
                        differing.append(f"{task.shape}, {name}: first at step {where}")
                if verdict["score"] != float(np.mean(fractions)) and abs(verdict["score"] - np.mean(fractions)) > 1e-15:
                    differing.append(f"{[task.shape.name for task in tasks]}, {name}: score {verdict['score']}, not {np.mean(fractions)}")
                ours_s, theirs_s = ours_s + between - began, theirs_s + time.perf_counter() - between
    n_fits = sum(len(task.known) for tasks in by_width.values() for task in tasks)
    print(
        f"{n_orders} orders with {n_steps} steps compared, {n_fits} models fitted by XGBoost {xgboost.__version__}; "
        f"{len(differing)} differ; dataperf {ours_s:.1f} s, XGBoost {theirs_s:.1f} s"
    )
    for line in differing:
        print(f"differs: {line}")
    if args.size == "full" and compare_trees(first_seed=1000):
        differing.append("trees or margins")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
