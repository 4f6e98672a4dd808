#!/usr/bin/env python3
"""Score random data sets with `dataperf score` and with scikit-learn, and compare.

Each data set is made in the public layout, imported, and used for a dozen submissions of shapes that
are easy to get wrong. Everything follows from the seeds, so a difference can be made again.

The frozen logistic regression stops after 100 iterations, wherever it is. On ill-conditioned data the last bits of
the sums in OpenBLAS have then grown into other scores: scikit-learn differs from itself between processors. Where
ours differs, scikit-learn is asked again with the sums of older processors. A submission on which it contradicts
itself has no reference score; it is counted apart, and there may only be few.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import SVC

SEEDS = (5, 69, 98, 70, 95, 64, 37, 11, 4, 32)  # the benchmark's ten
TOLERANCE = 1e-9
OTHER_KERNELS = ("Haswell", "Prescott") if platform.machine() == "x86_64" else ()
MAX_UNDETERMINED = 0.05  # of all submissions


@dataclass
class World:
    """How a random data set is made."""

    language: str
    seed: int
    width: int = 64
    n_words: int = 5
    n_other_words: int = 8
    train_clips: int = 14
    eval_clips: int = 20
    spread: float = 1.0  # of a word's clips around its centre, the centres lying about 1 apart
    scale: float = 1.0
    correlated: bool = False  # few directions carry everything, as in real embeddings
    flaw: str = ""  # constant columns, equal clips, a word that the test set lacks


@dataclass
class Language:
    """Clips by split, word and id, and the order of each file's rows."""

    train: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    evaluation: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)


def make(world: World) -> Language:
    rng = np.random.default_rng((world.seed, sum(world.language.encode())))
    made = Language()
    basis = rng.normal(size=(6, world.width)) if world.correlated else None

    def noise(n: int) -> np.ndarray:
        if basis is not None:
            return rng.normal(size=(n, len(basis))) @ basis / len(basis) ** 0.5 + 0.1 * rng.normal(size=(n, world.width))
        return rng.normal(size=(n, world.width))

    words = [f"{world.language}word{k}" for k in rng.permutation(world.n_words)]
    others = [f"other{k}" for k in rng.permutation(world.n_other_words)]
    made.targets = sorted(words)
    for word in words + others:
        centre = noise(1)
        for split, n in ((made.train, world.train_clips), (made.evaluation, world.eval_clips)):
            n = int(rng.integers(max(2, n // 2), n + n // 2 + 1))
            vectors = (world.scale * (centre + world.spread * noise(n))).astype(np.float32)
            if world.flaw == "constant columns":
                vectors[:, : world.width // 3] = 0.25
            if world.flaw == "equal clips":
                vectors[1::2] = vectors[::2][: len(vectors[1::2])]
            serials = rng.permutation(10_000)[:n]
            name = "train" if split is made.train else "eval"
            split[word] = {f"{word}/common_voice_{world.language}_{name}{s:05d}.wav": v for s, v in zip(serials, vectors)}
    return made


def write(made: Language, world: World, root: Path, rng: np.random.Generator) -> None:
    """The public layout; the lists name the clips in another order than the files."""
    lists = (("allowed_training_set.yaml", "train_embeddings", made.train), ("eval.yaml", "eval_embeddings", made.evaluation))
    for list_name, folder, split in lists:
        (root / folder).mkdir(parents=True)
        listed: dict = {"targets": {}, "nontargets": []}
        for word, clips in split.items():
            vectors = pa.array([v for v in clips.values()], type=pa.list_(pa.float32()))
            table = pa.table({"clip_id": pa.array(list(clips)), "mswc_embedding_vector": vectors})
            pq.write_table(table, root / folder / f"{word}.parquet", row_group_size=7)
            ids = [list(clips)[k] for k in rng.permutation(len(clips))]
            if word in made.targets:
                missing = world.flaw == "a word without test clips" and split is made.evaluation and word == made.targets[0]
                listed["targets"][word] = [] if missing else ids
            else:
                listed["nontargets"] += ids
        if world.flaw == "a word without test clips" and split is made.evaluation:
            split[made.targets[0]] = {}
        listed["nontargets"] = [listed["nontargets"][k] for k in rng.permutation(len(listed["nontargets"]))]
        (root / list_name).write_text(yaml.safe_dump(listed, sort_keys=False), encoding="utf-8")


def submissions(made: Language, rng: np.random.Generator) -> dict[str, dict]:
    """By shape. Words and clips are in random order: both decide the last digits."""
    pool = [clip for word, clips in made.train.items() if word not in made.targets for clip in clips]

    def draw(counts: dict[str, int], n_nontargets: int) -> dict:
        targets = {}
        for word in rng.permutation(list(counts)):
            clips = list(made.train[word])
            targets[str(word)] = [clips[k] for k in rng.permutation(len(clips))[: counts[word]]]
        return {"targets": targets, "nontargets": [pool[k] for k in rng.permutation(len(pool))[:n_nontargets]]}

    words = made.targets
    last = words[-1]
    each = max(1, 20 // len(words))
    shapes = {
        "balanced": draw({w: each for w in words}, 5),
        "balanced, few": draw({w: 2 for w in words}, 2),
        "one clip a class": draw({w: 1 for w in words}, 1),
        "one clip of a word": draw({w: 1 if w == last else each for w in words}, 5),
        "skewed": draw({w: 1 + 2 * k for k, w in enumerate(words)}, 3),
        "mostly nontarget": draw({w: 2 for w in words}, 40),
        "mostly one word": draw({w: 7 if w == last else 1 for w in words}, 1),
        "one target word": draw({last: 6}, 6),
        "two clips": draw({last: 1}, 1),
    }
    if len(words) > 1:
        shapes["a word left out"] = draw({w: each for w in words[1:]}, 5)
        empty = draw({w: each for w in words[1:]}, 5)
        empty["targets"][words[0]] = []
        shapes["an empty list"] = empty
    return {name: shape for name, shape in shapes.items() if n_clips(shape) <= 60}


def n_clips(submission: dict) -> int:
    return sum(map(len, submission["targets"].values())) + len(submission["nontargets"])


def rows(made: Language, submission: dict) -> tuple[np.ndarray, np.ndarray]:
    """The training matrix in the benchmark's order.

    Words as listed, a word's clips as in its file; then nontargets, grouped by word in the order the
    words first appear, a word's clips as listed.
    """
    x, y = [], []
    for word, wanted in submission["targets"].items():
        chosen = [vector for clip, vector in made.train[word].items() if clip in set(wanted)]
        x += chosen
        y += [1 + made.targets.index(word)] * len(chosen)
    groups: dict[str, list[str]] = {}
    for clip in submission["nontargets"]:
        groups.setdefault(clip.split("/")[0], []).append(clip)
    for word, clips in groups.items():
        x += [made.train[word][clip] for clip in clips]
        y += [0] * len(clips)
    return np.array(x), np.array(y)


def problem(made: Language, submission: dict) -> dict[str, np.ndarray]:
    x, y = rows(made, submission)
    eval_x = np.array([vector for clips in made.evaluation.values() for vector in clips.values()])
    classes = {word: k + 1 for k, word in enumerate(made.targets)}
    eval_y = np.array([classes.get(word, 0) for word, clips in made.evaluation.items() for _ in clips])
    return {"x": x, "y": y, "eval_x": eval_x, "eval_y": eval_y}


def reference(x: np.ndarray, y: np.ndarray, eval_x: np.ndarray, eval_y: np.ndarray) -> list[float]:
    scores = []
    for seed in SEEDS:
        voters = [("svm", SVC(probability=True, random_state=seed)), ("lr", LogisticRegression(random_state=seed))]
        model = VotingClassifier(voters, voting="soft").fit(x, y)
        scores.append(float(f1_score(eval_y, model.predict(eval_x), average="macro")))
    return scores


def contradicts_itself(arrays: dict[str, np.ndarray], expected: list[float], scratch: str) -> bool:
    """Whether scikit-learn gives other scores with the sums of other processors."""
    path = Path(scratch) / "problem.npz"
    np.savez(path, **arrays)
    for kernel in OTHER_KERNELS:
        call = [sys.executable, __file__, "--reference", path]
        ran = subprocess.run(call, env=os.environ | {"OPENBLAS_CORETYPE": kernel}, capture_output=True, text=True, check=True)
        if difference(json.loads(ran.stdout), expected) > TOLERANCE:
            return True
    return False


def difference(ours: list[float], theirs: list[float]) -> float:
    """The largest, over the seeds and their mean."""
    pairs = [*zip(ours, theirs, strict=True), (float(np.mean(ours)), float(np.mean(theirs)))]
    return max(abs(a - b) for a, b in pairs)


def worlds(size: str) -> list[World]:
    quick = [
        World("en", 1),
        World("pt", 2, width=200, spread=2.0),
        World("id", 3, width=17, spread=0.5),
        World("en", 4, width=1024, spread=4.0, correlated=True),
        World("pt", 5, n_words=1, spread=1.5),
        World("id", 6, n_words=12, n_other_words=3, train_clips=8, eval_clips=10, spread=2.0),
        World("en", 7, flaw="constant columns", spread=2.0),
        World("pt", 8, flaw="equal clips", spread=2.0),
        World("id", 9, flaw="a word without test clips", spread=2.0),
        World("en", 10, scale=0.05, spread=2.0),
        World("pt", 11, scale=6.0, spread=2.0),
    ]
    if size == "quick":
        return quick
    full = list(quick)
    for seed in range(100, 160):
        rng = np.random.default_rng(seed)
        full.append(
            World(
                language=("en", "pt", "id")[seed % 3], seed=seed, width=int(rng.choice([3, 16, 33, 128, 300, 1024])),
                n_words=int(rng.integers(1, 9)), n_other_words=int(rng.integers(1, 20)), train_clips=int(rng.integers(4, 40)),
                eval_clips=int(rng.integers(5, 80)), spread=float(rng.choice([0.5, 1, 2, 4])), scale=float(rng.choice([0.02, 0.3, 1, 4])),
                correlated=bool(rng.integers(2)),
            )
        )
    sizes = (("en", 180, 40, 90), ("pt", 120, 40, 60), ("id", 60, 20, 30))
    full += [World(lang, 200 + k, width=1024, spread=3.0, n_other_words=n, train_clips=a, eval_clips=b, correlated=True) for k, (lang, n, a, b) in enumerate(sizes)]
    return full


class Runner:
    def __init__(self, program: Path):
        self.program = program

    def json(self, *args: object) -> dict:
        ran = subprocess.run([self.program, "--format", "json", *map(str, args)], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"error: `dataperf {' '.join(map(str, args))}` ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return json.loads(ran.stdout)


@dataclass
class Tally:
    """What came of the submissions of one shape."""

    differences: list[float] = field(default_factory=list)
    undetermined: list[float] = field(default_factory=list)

    def line(self, name: str) -> str:
        largest = max(self.differences, default=0.0)
        apart = f"{len(self.undetermined)} (up to {max(self.undetermined):.2g})" if self.undetermined else "0"
        return f"{name:20} {len(self.differences):8} {largest:20.3g} {apart:>30}"


def compare(todo: list[World], runner: Runner) -> tuple[dict[str, Tally], list[str], dict[str, float]]:
    tallies: dict[str, Tally] = {}
    differing: list[str] = []
    seconds = {"dataperf": 0.0, "scikit-learn": 0.0}
    for world in todo:
        rng = np.random.default_rng(world.seed)
        made = make(world)
        with tempfile.TemporaryDirectory() as scratch:
            root, frozen = Path(scratch) / f"dataperf_{world.language}_data", Path(scratch) / "frozen"
            write(made, world, root, rng)
            runner.json("dataset", "import", "speech-selection", "--from", root, "--out", frozen)
            for shape, submission in submissions(made, rng).items():
                path = Path(scratch) / "submission.json"
                path.write_text(json.dumps(submission), encoding="utf-8")
                board = f"{world.language}-{25 if n_clips(submission) <= 25 else 60}"
                arrays = problem(made, submission)
                began = time.perf_counter()
                verdict = runner.json("score", "speech-selection", "-l", board, "-d", frozen, path)
                between = time.perf_counter()
                expected = reference(**arrays)
                seconds["dataperf"] += between - began
                seconds["scikit-learn"] += time.perf_counter() - between
                ours = verdict["metrics"]["per_seed"]
                found = max(difference(ours, expected), abs(verdict["score"] - float(np.mean(expected))))
                tally = tallies.setdefault(shape, Tally())
                if found > TOLERANCE and contradicts_itself(arrays, expected, scratch):
                    tally.undetermined.append(found)
                    continue
                tally.differences.append(found)
                if not found <= TOLERANCE:
                    differing.append(f"{world} / {shape}: by {found:.3g}: ours {ours}, scikit-learn {expected}")
    return tallies, differing, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="the directory of `dataperf`")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    parser.add_argument("--reference", type=Path, help="only print scikit-learn's scores for the arrays of this file")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the frozen model stops after 100 iterations and says so
    if args.reference:
        print(json.dumps(reference(**np.load(args.reference))))
        return 0
    todo, started = worlds(args.size), time.perf_counter()
    tallies, differing, seconds = compare(todo, Runner(args.bin / "dataperf"))
    print(f"{'shape':20} {'compared':>8} {'largest difference':>20} {'scikit-learn differs from itself':>30}")
    for shape, tally in tallies.items():
        print(tally.line(shape))
    every = Tally([d for t in tallies.values() for d in t.differences], [d for t in tallies.values() for d in t.undetermined])
    print(every.line("all"))
    n, n_apart = len(every.differences), len(every.undetermined)
    print(
        f"{len(todo)} data sets; {n} submissions and {n * len(SEEDS)} per-seed scores compared, {len(differing)} submissions differ by "
        f"more than {TOLERANCE}; {n_apart} without a reference score; {time.perf_counter() - started:.0f} s, of which "
        + ", ".join(f"{name} {spent:.1f}" for name, spent in seconds.items())
    )
    for line in differing:
        print(f"differs: {line}")
    if n_apart > MAX_UNDETERMINED * (n + n_apart):
        print(f"too many without a reference score: {n_apart} of {n + n_apart}, at most {MAX_UNDETERMINED:.0%} may be")
        return 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
