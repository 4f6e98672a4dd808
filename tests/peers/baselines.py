#!/usr/bin/env python3
"""Make baselines with `dataperf baseline` and with other people's libraries, and compare.

Selection for Speech: scikit-learn draws the splits and scores them with the frozen model, cleanlab flags labels, and
kmedoids looks for medoids. Selection for Vision: NumPy looks for the farthest points and scikit-learn chooses among
them. Debugging for Vision: DataScope computes Shapley values and NumPy influences. Data Acquisition: NumPy computes
what the summaries say. Everything follows from the seeds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import cleanlab
import kmedoids
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, pairwise_distances
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from checks import Checks
from conformance import Runner, World
from conformance import make as make_speech
from conformance import write as write_speech


class Baseline:
    """A data set in the public layout, imported, and what `dataperf baseline` makes of it."""

    def __init__(self, runner: Runner, benchmark: str, scratch: str, layout: Path):
        self.runner, self.scratch = runner, Path(scratch)
        runner.json("dataset", "import", benchmark, "--from", layout, "--out", self.scratch / "frozen")

    def __call__(self, method: str, leaderboard: str, seed: int) -> tuple[dict, dict]:
        out, details = self.scratch / "artifact.json", self.scratch / "details.json"
        where = ("--dataset", self.scratch / "frozen", "--leaderboard", leaderboard, "--seed", seed)
        self.runner.json("baseline", method, *where, "--out", out, "--details", details)
        return json.loads(out.read_text()), json.loads(details.read_text())


# ---------------------------------------------------------------- speech
def speech(runner: Runner, check: Checks, world: World) -> None:
    made = make_speech(world)
    with tempfile.TemporaryDirectory() as scratch:
        layout = Path(scratch) / f"dataperf_{world.language}_data"
        write_speech(made, world, layout, np.random.default_rng(world.seed))
        baseline = Baseline(runner, "speech-selection", scratch, layout)
        rows = frozen_rows(made, baseline)
        nested(check, baseline, rows, f"{world.language}-25", seed=world.seed)
        clean(check, baseline, rows, f"{world.language}-25", seed=world.seed)


def frozen_rows(made, baseline: Baseline) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Ids, vectors and classes in the data set's own order."""
    ids = (baseline.scratch / "frozen" / made.targets[0][:2] / "train_ids.txt").read_text().split()
    vectors = {clip: vector for clips in made.train.values() for clip, vector in clips.items()}
    classes = {word: k + 1 for k, word in enumerate(made.targets)}
    return ids, np.array([vectors[i] for i in ids]), np.array([classes.get(i.split("/")[0], 0) for i in ids])


def nested(check: Checks, baseline: Baseline, rows, leaderboard: str, seed: int) -> None:
    """Ten by ten shuffled splits, each scored by the frozen model on everything else."""
    ids, x, y = rows
    targets, nontargets = np.flatnonzero(y > 0), np.flatnonzero(y == 0)
    inner = StratifiedShuffleSplit(n_splits=10, train_size=10, random_state=seed)
    scores, sets = [], []
    for train, test in StratifiedShuffleSplit(n_splits=10, train_size=15, random_state=seed).split(targets, y[targets]):
        for other_train, other_test in inner.split(nontargets, y[nontargets]):
            fit, held_out = np.r_[targets[train], nontargets[other_train]], np.r_[targets[test], nontargets[other_test]]
            voters = [("svm", SVC(probability=True, random_state=seed)), ("lr", LogisticRegression(random_state=seed))]
            model = VotingClassifier(voters, voting="soft").fit(x[fit], y[fit])
            scores.append(f1_score(y[held_out], model.predict(x[held_out]), average="macro"))
            sets.append({ids[row] for row in fit})
    artifact, details = baseline("nested-cross-fold", leaderboard, seed)
    chosen = {clip for clips in artifact["targets"].values() for clip in clips} | set(artifact["nontargets"])
    check("nested cross-fold: scores of 100 training sets", np.allclose(details["scores"], scores, rtol=0, atol=1e-9))
    check("nested cross-fold: chosen clips", chosen == sets[int(np.argmax(scores))], f"F1 {max(scores):.4f}")


def clean(check: Checks, baseline: Baseline, rows, leaderboard: str, seed: int) -> None:
    """cleanlab's own cross-validation and doubts, then another FasterPAM."""
    ids, x, y = rows
    learning = cleanlab.classification.CleanLearning(
        LogisticRegression(), seed=seed, cv_n_folds=10, label_quality_scores_kwargs={"adjust_pred_probs": True},
        find_label_issues_kwargs={"min_examples_per_class": 10, "n_jobs": 1},
    )
    issues = learning.find_label_issues(x.astype(float), y)
    flagged = {ids[row] for row in np.flatnonzero(issues.is_label_issue)}
    quality, kept = issues.label_quality.to_numpy(), []
    for halved in (range(y.max() + 1), range(1)):  # every class loses its lower half, or the nontargets alone
        of_class = [np.flatnonzero(y == label) for label in halved]
        lowest = [rows[quality[rows].argsort(kind="stable")[: len(rows) // 2]] for rows in of_class]
        kept.append(np.setdiff1d(np.flatnonzero(~issues.is_label_issue), np.concatenate(lowest)))
    artifact, details = baseline("cleanlab", leaderboard, seed)
    kept = kept[int(np.argmax(details["scores"])) // (len(details["scores"]) // 2)]  # as many shares of targets of each
    check("cleanlab: flagged labels", set(details["flagged"]) == flagged, f"{len(flagged)} of {len(y)}")
    check("cleanlab: kept clips", details["kept"] == [ids[row] for row in kept], f"{len(kept)} of {len(y)}")
    words = sorted(artifact["targets"])
    for label, chosen in [(0, artifact["nontargets"])] + [(k + 1, artifact["targets"][w]) for k, w in enumerate(words)]:
        of_class = kept[y[kept] == label]
        distances = pairwise_distances(x[of_class].astype(float))
        medoids = [[ids[row] for row in of_class].index(clip) for clip in chosen]
        ours = distances[:, medoids].min(axis=1).sum() if medoids else 0.0
        check(f"medoids of class {label}: cost as told", abs(ours - details["costs"][label]) <= 1e-4 * max(ours, 1))
        n = len(medoids)
        if 0 < n < len(of_class):
            starts = [kmedoids.fasterpam(distances, n, max_iter=100, init="random", random_state=k).loss for k in range(4)]
            told = f"{ours:.4f}, kmedoids {min(starts):.4f}"
            check(f"medoids of class {label}: cost within 1 %", ours <= 1.01 * min(starts), told)


# ---------------------------------------------------------------- vision
def vision(runner: Runner, check: Checks, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, width, concepts = 1200, 32, ("Cupcake", "Hawk", "Sushi")
    pool = rng.normal(size=(n, width)).astype(np.float32)
    ids = [f"{k:016x}" for k in rng.permutation(10 * n)[:n]]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "layout"
        for folder in ("embeddings", "test_sets", "examples"):
            (root / folder).mkdir(parents=True)
        table(root / f"embeddings/train_emb_{width}_dataperf.parquet", ids, pool)
        examples = {}
        for k, concept in enumerate(concepts):
            test = rng.normal(size=(60, width)).astype(np.float32)
            confidence = np.where(test[:, k] > 0, "1", "0")
            table(root / f"test_sets/alpha_test_set_{concept}_{width}.parquet", [f"{concept}{j}" for j in range(60)], test, Confidence=list(confidence))
            examples[concept] = [ids[row] for row in np.argsort(-pool[:, k])[:20]]
            listed = "".join(f"{i},1\n" for i in examples[concept])
            (root / f"examples/alpha_example_set_{concept}.csv").write_text("ImageID,Confidence\n" + listed)
        baseline = Baseline(runner, "vision-selection", scratch, root)
        artifact, details = baseline("farthest-point", "open", seed)
        row_of = {image: row for row, image in enumerate(ids)}
        ours = [row_of[image] for image in details["farthest_points"]]
        nearest, expected = np.full(n, np.inf), [ours[0]]
        while len(expected) < len(ours):
            nearest = np.minimum(nearest, ((pool - pool[expected[-1]]) ** 2).sum(axis=1, dtype=float))
            expected.append(int(nearest.argmax()))
        check("farthest points: order", ours == expected and len(ours) == n // 4, f"{len(ours)} of {n}")
        for concept in concepts:
            chosen = farthest_subset([row_of[i] for i in examples[concept]], np.array(ours), pool.astype(float), seed)
            expected = {ids[row]: label for row, label in chosen.items()}
            check(f"farthest points: chosen images of {concept}", artifact[concept] == expected, f"{len(expected)}")


def farthest_subset(examples: list[int], points: np.ndarray, pool: np.ndarray, seed: int) -> dict[int, int]:
    # the data set lists a concept's examples in its own order, which the splits follow
    points = points[~np.isin(points, examples)]
    examples = np.array(examples)
    splits = StratifiedShuffleSplit(n_splits=5, train_size=int(0.8 * len(examples)), random_state=seed)
    best, best_score = {}, -1.0
    for train, test in splits.split(examples, np.zeros(len(examples))):
        for other_train, other_test in splits.split(points, np.zeros(len(points))):
            fit, held_out = np.r_[examples[train], points[other_train]], np.r_[examples[test], points[other_test]]
            labels = np.r_[np.ones(len(train)), np.zeros(len(other_train))]
            truth = np.r_[np.ones(len(test)), np.zeros(len(other_test))]
            score = f1_score(truth, LogisticRegression().fit(pool[fit], labels).predict(pool[held_out]))
            if score > best_score:
                best, best_score = {int(row): int(label) for row, label in zip(fit, labels)}, score
    return best


def table(path: Path, ids: list[str], matrix: np.ndarray, **extra: list) -> None:
    columns = {"ImageID": pa.array(ids), "embedding": pa.array(list(matrix), type=pa.list_(pa.float32()))}
    pq.write_table(pa.table(columns | {name: pa.array(values) for name, values in extra.items()}), path)


# ---------------------------------------------------------------- debugging
def debugging(runner: Runner, check: Checks, seed: int, datascope: Path) -> None:
    rng = np.random.default_rng(seed)
    width, tasks = 40, ("one", "one-flipped")
    with tempfile.TemporaryDirectory() as scratch:
        root, made = Path(scratch) / "layout", {}
        for folder in ("embeddings", "data"):
            (root / folder).mkdir(parents=True)
        for task in tasks:
            direction = rng.normal(size=width)
            made[task] = {}
            for part, n in (("train_0.3", 120), ("test", 60), ("val", 50)):
                x = rng.normal(size=(n, width)).astype(np.float32)
                y = (x @ direction > 0).astype(np.int64)
                names = [f"{k:016x}" for k in rng.permutation(10_000)[:n]]
                if part == "train_0.3":
                    truth = "".join(f"{name},{label}\n" for name, label in zip(names, y))
                    (root / f"data/dataset_{task}_train.csv").write_text("ImageID,hv_label\n" + truth)
                    y[rng.choice(n, 36, replace=False)] ^= 1
                made[task][part] = x.astype(float), y
                columns = {"filename": pa.array(names), "encoding": pa.array(list(x), type=pa.list_(pa.float32())), "label": pa.array(y)}
                pq.write_table(pa.table(columns), root / f"embeddings/{task}_{part}_{n}.parquet")
        baseline = Baseline(runner, "vision-debugging", scratch, root)
        for method, reference, tolerance in (("datascope", shapley_values, 1e-6), ("influence", loss_changes, 1e-6)):
            artifact, details = baseline(method, "open", seed)
            for task in tasks:
                expected = np.array(reference(*made[task]["train_0.3"], *made[task]["val"], datascope))
                ours = np.array(details["values"][task])
                largest = float(np.abs(ours - expected).max())
                check(f"{method}: values of {task}", largest <= tolerance, f"largest difference {largest:.2g}")
                order = list(np.argsort(ours, kind="stable"))
                check(f"{method}: order of {task}", artifact[task] == order and sorted(order) == list(range(120)))


def shapley_values(x, y, validation_x, validation_y, datascope: Path) -> list[float]:
    """By DataScope, which needs a younger scikit-learn than the frozen models: in an environment of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "task.npz"
        np.savez(path, x=x, y=y, validation_x=validation_x, validation_y=validation_y)
        ran = subprocess.run([datascope, Path(__file__).with_name("shapley.py"), path], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"error: DataScope failed:\n{ran.stderr}")
        return json.loads(ran.stdout)


def loss_changes(x, y, validation_x, validation_y, _datascope: Path) -> np.ndarray:
    """Influence with the whole Hessian, where the frozen model stops."""
    model = LogisticRegression().fit(x, y)
    train, validation = (np.column_stack([m, np.ones(len(m))]) for m in (x, validation_x))
    p, q = model.predict_proba(x)[:, 1], model.predict_proba(validation_x)[:, 1]
    hessian = train.T @ (train * (p * (1 - p))[:, None]) + np.diag(np.r_[np.ones(x.shape[1]), 0.0])
    gradient = validation.T @ (q - validation_y) / len(validation_y)
    return (p - y) * (train @ np.linalg.solve(hessian, gradient))


# ---------------------------------------------------------------- acquisition
def acquisition(runner: Runner, check: Checks, seed: int) -> None:
    rng = np.random.default_rng(seed)
    budget, prices = 150.0, [80, 100, 120, 100, 90, 110]
    plans: dict[str, dict] = {"uniform": {}, "fixed-seller": {}, "price-per-gain": {}}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "layout"
        for market in range(5):
            sellers = []
            here = root / "marketinfo" / str(market)
            for folder in (root / "features" / str(market), here / "price", here / "data_buyer"):
                folder.mkdir(parents=True)
            task = rng.normal(size=12)
            for seller in range(len(prices)):
                x = rng.normal(size=(int(rng.integers(60, 120)), 12))
                y = (x @ (task + seller * rng.normal(size=12)) > 0).astype(float)
                sellers.append(np.column_stack([x.round(6), y]))
                save(root / "features" / str(market) / f"{seller}.csv", sellers[-1])
            x = rng.normal(size=(80, 12))
            save(here / "data_buyer" / f"{len(prices)}.csv", np.column_stack([x.round(6), x @ task > 0]))
            (here / "price" / "price.txt").write_text("".join(f"Lin,{price}\n" for price in prices))
            (here / "price" / "budget.txt").write_text(f"{budget:g}\n")
            n, price = np.array([len(s) for s in sellers]), np.array(prices, float)

            def affordable(money: np.ndarray) -> list[int]:
                return [int(v) for v in np.minimum(n, np.floor(money / price * n))]

            plans["uniform"][str(market)] = affordable(np.full(len(n), budget / len(n)))
            plans["fixed-seller"][str(market)] = affordable(np.eye(len(n))[0] * budget)
            correlations = np.array([np.corrcoef(s.T)[-1, :-1] for s in sellers])
            gains = np.ones(len(n))
            for _ in range(20):
                common = (gains * np.sqrt(n)) @ correlations
                gains = np.maximum(correlations @ common / np.linalg.norm(common), 0)
            weights = gains**2 * n / price
            plans["price-per-gain"][str(market)] = affordable(budget * weights / weights.sum())
        baseline = Baseline(runner, "data-acquisition", scratch, root)
        for method, expected in plans.items():
            artifact, _ = baseline(method, "open", seed)
            check(f"acquisition: counts of {method}", artifact == expected)


def save(path: Path, rows: np.ndarray) -> None:
    named = pa.table({str(k): pa.array(rows[:, k].astype(float)) for k in range(rows.shape[1])})
    pacsv.write_csv(named, path, pacsv.WriteOptions(include_header=False))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory of `dataperf`")
    parser.add_argument("--datascope", type=Path, required=True, help="a Python that has DataScope")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the frozen model stops after 100 iterations and says so
    runner, check, began = Runner(args.bin / "dataperf"), Checks(), time.perf_counter()
    for seed in range(1, 2 if args.size == "quick" else 9):
        speech(runner, check, World(("en", "pt", "id")[seed % 3], seed, width=48, n_words=4, train_clips=60, spread=2.5))
        vision(runner, check, seed)
        debugging(runner, check, seed, args.datascope)
        acquisition(runner, check, seed)
    print(f"{check.n} comparisons, {len(check.failed)} differ; {time.perf_counter() - began:.0f} s")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
