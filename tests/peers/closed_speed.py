#!/usr/bin/env python3
"""Time from upload to receipt of a program that reads a whole pool, on `dataperf local`, for docs/performance.md.

Selection on own data with a pool of 100,000 x 256 32-bit floats, drawn from a seed, split into a public and a hidden data set. Each upload is run on both. A release
build and a machine without other work are wanted.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

import numpy as np
from local_cloud import local_cloud

N_ROWS, N_FEATURES, N_EVAL, N_CLASSES = 100_000, 256, 1_000, 10
TASK = """schema: 1
task: selection
title: A large pool
leaderboards: [{name: large, about: at most a hundred, max_examples: 100}]
classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
pool: {features: pool.npy, examples: pool.csv}
eval: {features: eval.npy, examples: eval.csv}
model: {kind: logistic_regression, C: 1.0}
metric: macro_f1
"""
CHALLENGE = """schema: 1
title: A large pool
benchmarks:
  selection:
    rounds:
      - {id: closed, opens: 2020-01-01, division: closed, dataset: "%s", programs: {public: "%s"}}
"""


def write_source(folder: Path) -> None:
    """Ten clouds of points."""
    folder.mkdir()
    draw = np.random.default_rng(1)
    centers = draw.normal(size=(N_CLASSES, N_FEATURES))
    for name, n_rows in (("pool", N_ROWS), ("eval", N_EVAL)):
        labels = draw.integers(N_CLASSES, size=n_rows)
        points = centers[labels] + 4 * draw.normal(size=(n_rows, N_FEATURES))
        np.save(folder / f"{name}.npy", points.astype(np.float32))
        lines = "".join(f"{name}{row},{label}\n" for row, label in enumerate(labels))
        (folder / f"{name}.csv").write_text("id,label\n" + lines)
    (folder / "task.yaml").write_text(TASK)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--size", choices=["quick", "full"], default="full", help="how many uploads count: 3 or 9")
    args = parser.parse_args()
    n_uploads = {"quick": 3, "full": 9}[args.size]
    modules = Path(__file__).resolve().parents[2] / "examples" / "closed"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)

        def dataperf(*words):
            ran = subprocess.run([args.bin / "dataperf", "--format", "json", *words], capture_output=True, text=True, env=env, check=False)
            if ran.returncode:
                raise SystemExit(f"{words}: {ran.stderr}{ran.stdout}")
            return json.loads(ran.stdout) if ran.stdout else None

        env = dict(os.environ)
        write_source(scratch / "source")
        dataperf("dataset", "import", "selection", "--from", scratch / "source", "--out", scratch / "frozen")
        dataperf("dataset", "split", scratch / "frozen", "--public", scratch / "public", "--final", scratch / "hidden")
        digests = [dataperf("dataset", "show", scratch / name)["dataset"] for name in ("hidden", "public")]
        (scratch / "closed.yaml").write_text(CHALLENGE % tuple(digests))
        with local_cloud(args.bin / "dataperf", scratch / "cloud") as cloud:
            env["DATAPERF_CLOUD"] = cloud["page"]
            dataperf("dataset", "publish", scratch / "public")
            dataperf("dataset", "publish", "--stage", scratch / "hidden")
            dataperf("challenge", "publish", scratch / "closed.yaml")
            for module in ("selection-c.wasm", "selection-rust.wasm"):
                seconds, evaluated = [], []
                for n in range(n_uploads + 1):
                    began = time.monotonic()
                    words = ["submit", "selection", "--leaderboard", "large", "--submitter", "ada", modules / module]
                    receipt = dataperf(*words)
                    seconds.append(time.monotonic() - began)
                    if receipt["status"] != "scored":
                        raise SystemExit(f"{module}: {receipt}")
                    received, finished = (datetime.fromisoformat(receipt[name]) for name in ("received_at", "finished_at"))
                    evaluated.append((finished - received).total_seconds())
                for name, (cold, *warm) in (("until `dataperf submit` has the receipt", seconds), ("from storing to verdict, by the receipt", evaluated)):
                    print(
                        f"{module}, {name}: {statistics.median(warm):.3f} s, {min(warm):.3f} to {max(warm):.3f} of {n_uploads},"
                        f" standard deviation {statistics.stdev(warm):.3f}; the first {cold:.3f} s"
                    )


if __name__ == "__main__":
    main()
