#!/usr/bin/env python3
"""How wide rank intervals are, beside the marginal confidence sets of Mogstad, Romano, Shaikh and Wilhelm (2024).

    cargo run --release -p dataperf-numerics --example coverage -- 2000 tied --dump DIR
    python tests/peers/rank_widths.py DIR

It reads the scores, covariances and widths that the simulation has written, and makes the sets from the published algorithm: both
directions of all differences of an entry at once, critical values from a normal distribution with the covariance, stepping down. It is
a second implementation in NumPy of what csranks (`csranks(simul = FALSE)`) does by its authors' paper, not csranks itself. With `--keep FILE` the
widths are written as JSON.
"""

import argparse
import json
from pathlib import Path

import numpy as np

CONFIDENCE = 0.95
N_DRAWS = 1_000


def rank_set(entry: int, scores: np.ndarray, draws: np.ndarray, covariance: np.ndarray) -> tuple[int, int]:
    """The best and the worst rank that an entry may have."""
    others = np.delete(np.arange(len(scores)), entry)
    variance = covariance[entry, entry] + covariance[others, others] - 2 * covariance[entry, others]
    differ = variance > 1e-12  # entries that answer alike are ties
    others, error = others[differ], np.sqrt(variance[differ])
    studentized = (scores[others] - scores[entry]) / error
    drawn = (draws[:, others] - draws[:, [entry]]) / error
    # an entry that is better has a hypothesis of its own beside that it is worse
    observed, drawn = np.concatenate([studentized, -studentized]), np.concatenate([drawn, -drawn], axis=1)
    left = np.ones(len(observed), dtype=bool)
    while left.any():
        critical = np.quantile(drawn[:, left].max(axis=1), CONFIDENCE, method="higher")
        sure = left & (observed > critical)
        if not sure.any():
            break
        left &= ~sure
    n_better, n_worse = (int(sure.sum()) for sure in np.split(~left, 2))
    return 1 + n_better, len(scores) - n_worse


def width(entry: int, scores: np.ndarray, draws: np.ndarray, covariance: np.ndarray) -> int:
    """The number of ranks that an entry may have."""
    first, last = rank_set(entry, scores, draws, covariance)
    return last - first + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--runs", type=int, default=40, help="runs of each scenario (40)")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    kept = {}
    print("| scenario | runs | ours | the published algorithm | ratio |\n|---|--:|--:|--:|--:|")
    for path in sorted(args.directory.glob("*.json")):
        random = np.random.default_rng(1)
        widths = []
        for run in json.loads(path.read_text())[: args.runs]:
            scores, covariance = np.array(run["scores"]), np.array(run["covariance"])
            draws = random.multivariate_normal(np.zeros(len(scores)), covariance, size=N_DRAWS, method="eigh")
            widths.append([np.mean(run["widths"]), np.mean([width(entry, scores, draws, covariance) for entry in range(len(scores))])])
        ours, theirs = np.mean(widths, axis=0)
        kept[path.stem] = {"runs": len(widths), "ours": round(float(ours), 3), "published": round(float(theirs), 3)}
        print(f"| {path.stem} | {len(widths)} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.3f} |")
    if args.keep:
        args.keep.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
