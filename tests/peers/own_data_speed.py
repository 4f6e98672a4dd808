#!/usr/bin/env python3
"""Time whole processes of `dataperf score` on own data and of scikit-learn's reference in turn, and compare the scores.

For docs/performance.md; wants a machine without other work."""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

REFERENCE = Path(__file__).resolve().parents[2] / "shared/benchmarks/own_data/recipe/reference.py"
N_FEATURES = 256


def rows(rng, n):
    """Rows of two classes that overlap, and the classes."""
    y = rng.integers(2, size=n)
    return (rng.normal(size=(n, N_FEATURES)) + 0.12 * (2 * y[:, None] - 1)).astype(np.float32), y


def write(folder, name, x, columns):
    np.save(folder / f"{name}.npy", x)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def contest(folder, task, more, artifact):
    files = {"selection": "pool", "debugging": "train"}[task]
    document = {
        "schema": 1, "task": task, "title": "speed", "leaderboards": [{"name": "board", **more}], "classes": ["a", "b"],
        files: {"features": f"{files}.npy", "examples": f"{files}.csv"}, "eval": {"features": "eval.npy", "examples": "eval.csv"},
        "model": "logistic_regression", "metric": "accuracy",
    }
    (folder / "task.yaml").write_text(json.dumps(document))  # JSON is YAML
    (folder / "artifact.json").write_text(json.dumps(artifact))


def selection(folder):
    rng = np.random.default_rng(1)
    x, y = rows(rng, 10_000)
    ids = [f"r{k}" for k in range(len(x))]
    write(folder, "pool", x, {"id": ids, "label": ["ab"[k] for k in y]})
    x, y = rows(rng, 2_000)
    write(folder, "eval", x, {"label": ["ab"[k] for k in y]})
    contest(folder, "selection", {"max_examples": 50}, {"ids": ids[:50]})


def debugging(folder):
    rng = np.random.default_rng(2)
    x, truth = rows(rng, 300)
    given = truth.copy()
    given[rng.choice(300, 90, replace=False)] ^= 1
    ids = [f"r{k}" for k in range(len(x))]
    write(folder, "train", x, {"id": ids, "given": ["ab"[k] for k in given], "truth": ["ab"[k] for k in truth]})
    x, y = rows(rng, 500)
    write(folder, "eval", x, {"label": ["ab"[k] for k in y]})
    contest(folder, "debugging", {}, {"order": [ids[k] for k in rng.permutation(300)]})


def timed(command):
    began, before = time.perf_counter(), os.times()
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, processor, ran.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    args = parser.parse_args()
    n_runs, dataperf = (3 if args.size == "quick" else 9), args.bin / "dataperf"
    for task, make in [("selection", selection), ("debugging", debugging)]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            make(folder)
            subprocess.run([dataperf, "dataset", "import", task, "--from", folder, "--out", folder / "frozen"], check=True, capture_output=True)
            ours = [dataperf, "score", task, "--leaderboard", "board", "--dataset", folder / "frozen", folder / "artifact.json", "--format", "json"]
            theirs = [sys.executable, REFERENCE, "score", folder, folder / "artifact.json"]
            runs = [(timed(ours), timed(theirs)) for _ in range(n_runs)]
            scores = {json.loads(own[2])["score"] for own, _ in runs} | {float(other[2]) for _, other in runs}
            (wall, processor), (other_wall, other_processor) = ([median(run[side][k] for run in runs) for k in (0, 1)] for side in (0, 1))
            print(f"{task}: here {wall:.3f} s, processor {processor:.3f} s; scikit-learn {other_wall:.3f} s, processor {other_processor:.3f} s; "
                  f"{other_wall / wall:.0f} times, processor {other_processor / processor:.0f} times; scores {sorted(scores)}")
            if max(scores) - min(scores) > 1e-9:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
