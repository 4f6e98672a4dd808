#!/usr/bin/env python3
"""Print the baselines' scores on a frozen data set as a table: mean and standard deviation over seeds.

    baselines/table.py FROZEN [--bin target/release] [--seeds 5]

Methods that draw nothing are made once. Needs nothing but Python's standard library.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("dataset", type=Path, help="made by `dataperf dataset import`")
parser.add_argument("--bin", type=Path, default=Path("target/release"), help="the directory of `dataperf`")
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--parts", action="store_true", help="a column for each concept, task or market")
args = parser.parse_args()


def dataperf(*words: object) -> dict:
    call = [args.bin / "dataperf", "--format", "json", *map(str, words)]
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"error: `{' '.join(map(str, call))}` ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


def scores(method: str, board: str, seed: int, scratch: Path) -> dict[str, float]:
    out = scratch / "artifact.json"
    dataperf("baseline", method, "--dataset", args.dataset, "--leaderboard", board, "--seed", seed, "--out", out)
    verdict = dataperf("score", benchmark, "--leaderboard", board, "--dataset", args.dataset, out)
    found = {}
    for name in ("concepts", "markets", "tasks") if args.parts else ():
        for part, of_part in verdict["metrics"].get(name, {}).items():
            measure = next(key for key in ("f1", "accuracy", "fraction_of_fixes") if key in of_part)
            found[part] = of_part[measure]
    return found | {board: verdict["score"]}


described = dataperf("dataset", "show", args.dataset)
benchmark, boards = described["benchmark"], [board["name"] for board in described["leaderboards"]]
began, rows = time.perf_counter(), {}
with tempfile.TemporaryDirectory() as scratch:
    for method in dataperf("baseline", "list")[benchmark]:
        found: dict[str, list[float]] = {}
        for board in boards:
            for seed in range(args.seeds):
                for part, score in scores(method["name"], board, seed, Path(scratch)).items():
                    found.setdefault(part, []).append(score)
        rows[method["name"]] = found
columns = list(next(iter(rows.values())))
print(f"| {benchmark}, {args.seeds} seeds | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
for method, found in rows.items():
    cells = [f"{statistics.mean(found[c]):.3f} ± {statistics.pstdev(found[c]):.3f}" for c in columns]
    print(f"| {method} | {' | '.join(cells)} |")
print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
