#!/usr/bin/env python3
"""Time two baselines at the paper's size, `dataperf baseline` beside what they replace, on one machine in one run.

Nested cross-fold selection for en-60: what `baseline_selection.py` of the public speech challenge does, with
scikit-learn 1.2.2. Ten stratified shuffles of 3,932 target clips times ten of 10,000 nontargets; each pair trains the
frozen model on 60 clips and predicts the 13,872 others, whose macro F1 is its score. Both sides get one seed and have
to choose the same clips. Farthest points: 1,000 of a pool of 100,000 images of 256 numbers, NumPy beside the method
`farthest-point`, which then also chooses among subsets for three concepts.

Times of `dataperf` are of the whole process, which reads the frozen data set and checks the artifact; those of Python
are of the selection alone, the data being in memory. By hand, on a machine that does nothing else, with the environment
that `tests/peers/run baselines` has made:

    ~/.cache/dataperf/peers/baselines/bin/python tests/peers/baselines_speed.py --bin target/release --data DIR
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

SEED, LATENT = 1, 64
TARGETS = {"episode": 700, "fifty": 800, "job": 900, "restaurant": 732, "route": 800}
N_OTHER_WORDS, N_CLIPS = 100, 100
N_POOL, N_POINTS, CONCEPTS = 100_000, 1_000, ("Cupcake", "Hawk", "Sushi")


def table(path: Path, id_column: str, ids: list[str], vector_column: str, x: np.ndarray, **extra: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    offsets = pa.array(np.arange(0, x.size + 1, x.shape[1], dtype=np.int32))
    vectors = pa.ListArray.from_arrays(offsets, pa.array(x.ravel()))
    columns = {id_column: pa.array(ids), vector_column: vectors}
    pq.write_table(pa.table(columns | {name: pa.array(values) for name, values in extra.items()}), path)


def make_speech(root: Path) -> None:
    """Words are centres in a latent space that a random matrix spreads over 1,024 numbers; clips scatter around them."""
    rng = np.random.default_rng(SEED)
    mixing = rng.normal(size=(LATENT, 1024)) / LATENT**0.5
    lists = {"train": {"targets": {}, "nontargets": []}, "eval": {"targets": {}, "nontargets": []}}
    for word in [*TARGETS, *(f"other{k:03d}" for k in range(N_OTHER_WORDS))]:
        centre = rng.normal(size=LATENT)
        for split, n in (("train", TARGETS.get(word, N_CLIPS)), ("eval", 10)):
            x = (0.6 * centre + 0.8 * rng.normal(size=(n, LATENT))) @ mixing + 0.3 * rng.normal(size=(n, 1024))
            ids = [f"{word}/common_voice_en_{split}{k:05d}.wav" for k in range(n)]
            table(root / f"{split}_embeddings/{word}.parquet", "clip_id", ids, "mswc_embedding_vector", x.astype(np.float32))
            if word in TARGETS:
                lists[split]["targets"][word] = ids
            else:
                lists[split]["nontargets"] += ids
    for name, split in (("allowed_training_set.yaml", "train"), ("eval.yaml", "eval")):
        (root / name).write_text(yaml.safe_dump(lists[split], sort_keys=False))


def make_vision(root: Path) -> None:
    """Latent normal vectors, spread over 256 numbers; a concept is a direction, its examples the farthest along it."""
    rng = np.random.default_rng(SEED)
    mixing = rng.normal(size=(40, 256)) / 40**0.5
    latent = rng.normal(size=(N_POOL, 40))
    ids = [f"{k:016x}" for k in range(N_POOL)]
    pool = latent @ mixing + 0.25 * rng.normal(size=(N_POOL, 256))
    table(root / "embeddings/train_emb_256_dataperf.parquet", "ImageID", ids, "embedding", pool.astype(np.float32))
    for k, concept in enumerate(CONCEPTS):
        name, confidence = f"test_sets/alpha_test_set_{concept}_256.parquet", ["0", "1"] * 50
        table(root / name, "ImageID", [f"{concept}{j}" for j in range(100)], "embedding", pool[:100].astype(np.float32), Confidence=confidence)
        examples = "".join(f"{ids[row]},1\n" for row in np.argsort(-latent[:, k])[:20])
        (root / "examples").mkdir(exist_ok=True)
        (root / f"examples/alpha_example_set_{concept}.csv").write_text("ImageID,Confidence\n" + examples)


def nested_cross_fold(x: np.ndarray, y: np.ndarray) -> tuple[set[int], float]:
    targets, nontargets = np.flatnonzero(y > 0), np.flatnonzero(y == 0)
    outer = StratifiedShuffleSplit(n_splits=10, train_size=36, random_state=SEED)
    inner = StratifiedShuffleSplit(n_splits=10, train_size=24, random_state=SEED)
    best, best_score = set(), -1.0
    for train, test in outer.split(targets, y[targets]):
        for other_train, other_test in inner.split(nontargets, y[nontargets]):
            fit, held_out = np.r_[targets[train], nontargets[other_train]], np.r_[targets[test], nontargets[other_test]]
            voters = [("svm", SVC(probability=True, random_state=SEED)), ("lr", LogisticRegression(random_state=SEED))]
            model = VotingClassifier(voters, voting="soft").fit(x[fit], y[fit])
            score = f1_score(y[held_out], model.predict(x[held_out]), average="macro")
            if score > best_score:
                best, best_score = set(fit.tolist()), score
    return best, best_score


def farthest_points(x: np.ndarray, first: int) -> list[int]:
    squared, chosen = np.full(len(x), np.inf, np.float32), [first]
    while len(chosen) < N_POINTS:
        np.minimum(squared, ((x - x[chosen[-1]]) ** 2).sum(axis=1), out=squared)
        chosen.append(int(squared.argmax()))
    return chosen


def timed(what: str, run: Callable, who: int) -> tuple[object, float]:
    """Runs, prints the times, and returns the result and the seconds on the wall."""
    def processor() -> float:
        used = resource.getrusage(who)
        return used.ru_utime + used.ru_stime

    before, began = processor(), time.perf_counter()
    result = run()
    wall = time.perf_counter() - began
    print(f"{what:44} {wall:8.2f} s, processor {processor() - before:8.2f} s", flush=True)
    return result, wall


def compare(what: str, runs: int, ours: Callable, theirs: Callable) -> tuple[object, object]:
    """Ours, theirs, ours again; gives both results."""
    def once() -> tuple[object, float]:
        return timed(f"{what}: dataperf", ours, resource.RUSAGE_CHILDREN)

    walls = [once()[1] for _ in range(runs)]
    their_result, wall = timed(f"{what}: Python", theirs, resource.RUSAGE_SELF)
    for _ in range(runs):
        our_result, our_wall = once()
        walls.append(our_wall)
    middle = float(np.median(walls))
    print(f"{what}: {wall / middle:.0f} times faster (median {middle:.2f} s of {len(walls)} runs, slowest {max(walls):.2f} s)", flush=True)
    return our_result, their_result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory of `dataperf`, a release build")
    parser.add_argument("--data", type=Path, required=True, help="where the data are made, or were made by an earlier run")
    parser.add_argument("--runs", type=int, default=3, help="runs of dataperf before and after Python's")
    parser.add_argument("--only-make", action="store_true", help="make the data and time nothing")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the frozen model stops after 100 iterations and says so

    def dataperf(*words: object) -> None:
        subprocess.run([args.bin / "dataperf", "--format", "json", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for benchmark, make, layout in (("speech-selection", make_speech, "dataperf_en_data"), ("vision-selection", make_vision, "vision")):
        if not (args.data / benchmark).exists():
            make(args.data / layout)
            dataperf("dataset", "import", benchmark, "--from", args.data / layout, "--out", args.data / benchmark)
    if args.only_make:
        return 0

    def baseline(benchmark: str, method: str, board: str) -> Callable[[], tuple[dict, dict]]:
        out, details = args.data / "artifact.json", args.data / "details.json"

        def run() -> tuple[dict, dict]:
            dataperf("baseline", method, "--dataset", args.data / benchmark, "--leaderboard", board, "--seed", SEED, "--out", out, "--details", details)
            return json.loads(out.read_text()), json.loads(details.read_text())
        return run

    def vectors(path: Path, id_column: str, vector_column: str) -> tuple[list[str], np.ndarray]:
        read = pq.read_table(path)
        flat = read[vector_column].combine_chunks().flatten().to_numpy()
        return read[id_column].to_pylist(), flat.reshape(len(read), -1)

    root, agree = args.data / "dataperf_en_data", True
    # the order of the frozen rows, which the splits follow
    ids = (args.data / "speech-selection/en/train_ids.txt").read_text().split()
    read = [vectors(path, "clip_id", "mswc_embedding_vector") for path in (root / "train_embeddings").glob("*.parquet")]
    row_of = {clip: row for names, rows in read for clip, row in zip(names, rows)}
    x, words = np.array([row_of[clip] for clip in ids]), sorted(TARGETS)
    y = np.array([words.index(w) + 1 if (w := clip.split("/")[0]) in TARGETS else 0 for clip in ids])
    (chosen, details), (best, score) = compare(
        "nested cross-fold, en-60", args.runs, baseline("speech-selection", "nested-cross-fold", "en-60"), lambda: nested_cross_fold(x, y)
    )
    ours = {clip for clips in chosen["targets"].values() for clip in clips} | set(chosen["nontargets"])
    agree &= ours == {ids[row] for row in best} and abs(max(details["scores"]) - score) <= 1e-9
    print(f"the same clips on both sides: {agree}; macro F1 {score:.4f}", flush=True)

    names, pool = vectors(args.data / "vision/embeddings/train_emb_256_dataperf.parquet", "ImageID", "embedding")
    places = {name: row for row, name in enumerate(names)}
    method = baseline("vision-selection", "farthest-point", "open")
    first = places[method()[1]["farthest_points"][0]]
    (_, details), points = compare("farthest points, 100,000 x 256", args.runs, method, lambda: farthest_points(pool, first))
    same = [places[name] for name in details["farthest_points"]] == points
    print(f"the same points on both sides, in order: {same}", flush=True)
    return 0 if agree and same else 1


if __name__ == "__main__":
    sys.exit(main())
