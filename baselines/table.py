#!/usr/bin/env python3
"""Print the baselines' scores on a frozen data set as a table: mean and standard deviation over seeds.

    baselines/table.py FROZEN [FROZEN ...] [--bin target/release] [--seeds 5] [--parts] [--leaderboards en-60 id-60]

Of several data sets of one benchmark the mean and the deviation are over all of them. What one seed chooses like another is
scored once. Needs nothing but Python's standard library.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("datasets", type=Path, nargs="+", metavar="FROZEN", help="made by `dataperf dataset import`")
parser.add_argument("--bin", type=Path, default=Path("target/release"), help="the directory of `dataperf`")
parser.add_argument("--seeds", type=int, default=5)
parser.add_argument("--parts", action="store_true", help="a column for each concept, task or market")
parser.add_argument("--leaderboards", nargs="+", help="only these; all of the data set's by default")
args = parser.parse_args()


def dataperf(*words: object) -> dict:
    call = [args.bin / "dataperf", "--format", "json", *map(str, words)]
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"error: `{' '.join(map(str, call))}` ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


def scores(dataset: Path, method: str, board: str, seed: int, scratch: Path) -> dict[str, float]:
    out = scratch / "artifact.json"
    dataperf("baseline", method, "--dataset", dataset, "--leaderboard", board, "--seed", seed, "--out", out)
    chosen = dataset, board, out.read_bytes()
    if chosen not in known:
        known[chosen] = scored(dataset, board, out)
    return known[chosen]


def scored(dataset: Path, board: str, out: Path) -> dict[str, float]:
    verdict = dataperf("score", benchmark, "--leaderboard", board, "--dataset", dataset, out)
    found = {}
    for name in ("concepts", "markets", "tasks") if args.parts else ():
        for part, of_part in verdict["metrics"].get(name, {}).items():
            measure = next(key for key in ("f1", "fraction_of_fixes", "accuracy") if key in of_part)
            found[part] = of_part[measure]
    return found | {board: verdict["score"]}


described = dataperf("dataset", "show", args.datasets[0])
benchmark, boards = described["benchmark"], args.leaderboards or [board["name"] for board in described["leaderboards"]]
began, rows, known = time.perf_counter(), {}, {}
with tempfile.TemporaryDirectory() as scratch:
    for method in dataperf("baseline", "list")[benchmark]:
        found: dict[str, list[float]] = {}
        for board in boards:
            for dataset, seed in itertools.product(args.datasets, range(args.seeds)):
                for part, score in scores(dataset, method["name"], board, seed, Path(scratch)).items():
                    found.setdefault(part, []).append(score)
        rows[method["name"]] = found
columns = list(next(iter(rows.values())))
print(f"| {benchmark}, {len(args.datasets)} x {args.seeds} seeds | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
for method, found in rows.items():
    cells = [f"{statistics.mean(found[c]):.3f} ± {statistics.pstdev(found[c]):.3f}" for c in columns]
    print(f"| {method} | {' | '.join(cells)} |")
print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
