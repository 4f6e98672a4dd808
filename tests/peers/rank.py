#!/usr/bin/env python3
"""Compare `dataperf rank` with SciPy's exact test and t-test, with the published algorithm of csranks, and its forms with each other.

McNemar's exact test is SciPy's binomial test of the items on which one system alone is right. The rank sets are those of
`rank_widths.py`, a second implementation of what csranks does by its authors' paper: csranks itself is a package for R.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from checks import Checks
from rank_widths import rank_set
from scipy import stats

N_PAIRS = {"quick": 30, "full": 300}
N_RANKINGS = {"quick": 6, "full": 40}


class Rank:
    def __init__(self, program: Path, scratch: Path):
        self.program, self.scratch = program, scratch

    def __call__(self, frame: "pd.DataFrame | list[Path]", *options: str) -> dict:
        paths = frame
        if isinstance(frame, pd.DataFrame):
            paths = [self.scratch / "results.csv"]
            frame.to_csv(paths[0], index=False)
        ran = subprocess.run([self.program, "rank", "--format", "json", *options, "--", *paths], capture_output=True, check=False, text=True)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


def frame_of(values: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=[f"s{number}" for number in range(values.shape[1])])
    frame.insert(0, "item", [f"q{number}" for number in range(len(values))])
    return frame


def pairs(random: np.random.Generator, rank: Rank, check: Checks, n: int) -> None:
    worst, widths, n_same = {"mcnemar": 0.0, "t": 0.0}, [], 0
    for number in range(n):
        n_items = int(random.integers(20, 400))
        if number % 2:
            values = (random.random((n_items, 2)) < random.uniform(0.05, 0.95, size=2)).astype(float)
        else:
            values = random.normal(size=(n_items, 1)) + random.normal(size=(n_items, 2)) * random.uniform(0.1, 2, size=2) + random.normal(size=2) * 0.2
        pair = rank(frame_of(values), "--keep-odd", "--compare", "s0", "s1")["comparison"]
        one, other = values.T
        if number % 2:
            n_one, n_both = int((one > other).sum()), int((one != other).sum())
            expected = stats.binomtest(n_one, n_both).pvalue if n_both else 1.0
            worst["mcnemar"] = max(worst["mcnemar"], abs(pair["p_value"] / expected - 1))
            # a board of two tells apart at 97.5 % to each side
            n_same += (pair["clearly_better"] is not None) == (expected < 0.05)
        else:
            test = stats.ttest_rel(one, other)
            worst["t"] = max(worst["t"], abs(pair["p_value"] - test.pvalue))
            low, high = test.confidence_interval(0.95)
            widths.append((pair["difference_high"] - pair["difference_low"]) / (high - low))
            n_same += (pair["clearly_better"] is not None) == (test.pvalue < 0.05)
    check("p-values of McNemar's exact test are SciPy's", worst["mcnemar"] < 1e-9, worst["mcnemar"])
    check("p-values of the paired t-test are SciPy's", worst["t"] < 1e-9, worst["t"])
    # a standard deviation over 1,000 draws has an error of 2.2 %
    check("intervals of differences are as wide as Student's, within four errors", max(abs(np.array(widths) - 1)) < 0.09, np.mean(widths))
    check("who is clearly better agrees with the tests in nine of ten cases", n_same >= 0.9 * n, f"{n_same} of {n}")


def rankings(random: np.random.Generator, rank: Rank, check: Checks, n: int) -> None:
    ends, widths = [], []
    for number in range(n):
        n_items, n_systems = 2_000, 12
        ability = np.linspace(0.4, 0.7, n_systems) if number % 2 else np.full(n_systems, 0.6)
        difficulty = random.uniform(-0.25, 0.25, size=(n_items, 1))
        values = (random.random((n_items, n_systems)) < ability + difficulty).astype(float)
        rows = {row["system"]: row for row in rank(frame_of(values))["rows"]}
        scores, covariance = values.mean(axis=0), np.cov(values.T) / n_items
        draws = random.multivariate_normal(np.zeros(n_systems), covariance, size=10_000, method="eigh")
        for system in range(n_systems):
            row = rows[f"s{system}"]
            ours, theirs = (row["rank_low"], row["rank_high"]), rank_set(system, scores, draws, covariance)
            ends += [abs(ours[0] - theirs[0]), abs(ours[1] - theirs[1])]
            widths.append((ours[1] - ours[0] + 1, theirs[1] - theirs[0] + 1))
        assert all(abs(rows[f"s{system}"]["score"] - scores[system]) < 1e-12 for system in range(n_systems))
    # the published sets are of both directions at once with 95 %, ours of each with 97.5 %
    ours, theirs = np.mean(widths, axis=0)
    check("ends of rank intervals are those of the published algorithm in most cases", np.mean(np.array(ends) == 0) >= 0.85, np.mean(np.array(ends) == 0))
    check("and one rank away in the others", np.mean(np.array(ends) <= 1) >= 0.98, max(ends))
    check("mean widths agree within 5 %", abs(ours / theirs - 1) < 0.05, f"{ours:.2f}, {theirs:.2f}")


def forms(random: np.random.Generator, rank: Rank, check: Checks) -> None:
    frame = frame_of(random.integers(0, 101, size=(60, 5)) / 100)
    frame["cluster"] = [f"c{number % 30}" for number in range(len(frame))]
    frame["weight"] = random.uniform(0.5, 1.5, size=len(frame)).round(3)
    expected = rank(frame)
    shuffled = frame.sample(frac=1, random_state=1)
    long = shuffled.melt(["item", "cluster", "weight"], var_name="system", value_name="value")
    for name, table in {"wide": shuffled, "long": long}.items():
        for form in ["csv", "tsv", "parquet", "jsonl"]:
            path = rank.scratch / f"{name}.{form}"
            if form == "parquet":
                table.to_parquet(path, index=False, row_group_size=37)
            elif form == "jsonl":
                table.to_json(path, orient="records", lines=True)
            else:
                table.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
            check(f"a {name} table as {form} gives the same", rank([path]) == expected)
    plain = frame.drop(columns=["cluster", "weight"])
    turned = plain.set_index("item").T.rename_axis("model").reset_index()
    check("a row for each system gives the same", rank(turned)["rows"] == rank(plain)["rows"])
    weights = frame["weight"].to_numpy()
    scores = {row["system"]: row["score"] for row in expected["rows"]}
    differences = [abs(scores[name] - np.average(frame[name], weights=weights)) for name in scores]
    check("scores are NumPy's weighted means", max(differences) < 1e-12, max(differences))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--size", choices=N_PAIRS, default="quick")
    args = parser.parse_args()
    random, check = np.random.default_rng(23), Checks()
    with tempfile.TemporaryDirectory() as scratch:
        rank = Rank(args.bin / "dataperf", Path(scratch))
        pairs(random, rank, check, N_PAIRS[args.size])
        rankings(random, rank, check, N_RANKINGS[args.size])
        forms(random, rank, check)
    print(f"{check.n} comparisons, {len(check.failed)} differ")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
