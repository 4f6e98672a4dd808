#!/usr/bin/env python3
"""Hash the n-grams of random texts and fit logistic regressions to them, here and with scikit-learn 1.2.2, and compare.

Rows have to be equal to the last bit. Every prediction has to be equal, unless the two highest probabilities are closer than rounding can
tell. Probabilities have to agree within 1e-5 where both fits stop after as many iterations, and within 1e-3 where rounding decides in which
iteration the gradient is small enough; that may be so of few corpora. Everything follows from the seeds.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

TOLERANCE, OTHER_STOP = 1e-5, 1e-3  # of probabilities, after as many iterations and after others
MAX_OTHER_STOPS = 0.1  # of all corpora
TIE = 1e-7
# of all planes, without surrogates and what Unicode 14 does not assign
BLOCKS = [(0x20, 0x7F), (0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x900, 0xE00), (0x1E00, 0x2100), (0x3040, 0x30FF), (0x1F300, 0x1F650)]


def word(rng: np.random.Generator) -> str:
    first, end = BLOCKS[rng.integers(len(BLOCKS))]
    return "".join(chr(c) for c in rng.integers(first, end, rng.integers(1, 9)))


def case(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    vocabulary = [word(rng) for _ in range(int(rng.integers(20, 300)))]
    n_classes = int(rng.integers(2, 5))

    def texts(n: int) -> tuple[list[str], list[int]]:
        labels = rng.integers(0, n_classes, n)
        begins = labels * len(vocabulary) // (2 * n_classes)
        made = [" ".join(rng.choice(vocabulary[b:], rng.integers(0, 15)).tolist()) for b in begins]
        return made, labels.tolist()

    train, labels = texts(int(rng.integers(20, 400)))
    labels[:n_classes] = range(n_classes)
    least = int(rng.integers(1, 4))
    return {
        "analyzer": str(rng.choice(["word", "char_wb"])),
        "lengths": [least, least + int(rng.integers(0, 3))],
        "n_features": int(rng.choice([1 << 15, 1 << 12, 1000, 12345, 97])),
        "settings": {"C": float(rng.choice([0.1, 1.0, 10.0])), "max_iter": 1000, "tol": 1e-4},
        "train": train,
        "labels": labels,
        "texts": texts(100)[0],
    }


def compare(case: dict, ours: dict) -> tuple[list[str], float, bool, int]:
    """What differs, the largest difference of probabilities, whether both fits stop alike, and predictions that rounding decides."""
    vectorizer = HashingVectorizer(
        n_features=case["n_features"], analyzer=case["analyzer"], ngram_range=tuple(case["lengths"])
    )
    model = LogisticRegression(**case["settings"]).fit(vectorizer.transform(case["train"]), case["labels"])
    x = vectorizer.transform(case["texts"])
    differing = []
    for row, entries in enumerate(ours["rows"]):
        begin, end = x.indptr[row], x.indptr[row + 1]
        if [tuple(e) for e in entries] != list(zip(x.indices[begin:end].tolist(), x.data[begin:end].tolist())):
            differing.append(f"row of {case['texts'][row]!r}")
    theirs = model.predict_proba(x)
    largest = float(np.abs(theirs - np.array(ours["probabilities"])).max())
    stops_alike = ours["n_iter"] == model.n_iter_[0]
    if largest > (TOLERANCE if stops_alike else OTHER_STOP):
        differing.append(f"probabilities differ by {largest:.3g} after {ours['n_iter']} and {model.n_iter_} iterations")
    top = np.sort(theirs, axis=1)
    tied = top[:, -1] - top[:, -2] < TIE
    unequal = (model.predict(x) != np.array(ours["predicted"])) & ~tied
    differing += [f"prediction of {case['texts'][row]!r}" for row in np.flatnonzero(unequal)]
    return differing, largest, stops_alike, int(tied.sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory with `examples/hash`")
    parser.add_argument("--size", choices=["quick", "full"], default="quick")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [case(seed) for seed in range(60 if args.size == "quick" else 1000)]
    answers = subprocess.run([args.bin / "examples/hash"], input=json.dumps(cases), capture_output=True, check=True, text=True)
    differing, largest, tied, other_stops = [], {True: 0.0, False: 0.0}, 0, 0
    for seed, (asked, ours) in enumerate(zip(cases, json.loads(answers.stdout), strict=True)):
        found, difference, stops_alike, n_tied = compare(asked, ours)
        differing += [f"seed {seed}: {what}" for what in found]
        largest[stops_alike] = max(largest[stops_alike], difference)
        tied, other_stops = tied + n_tied, other_stops + (not stops_alike)
    print(
        f"{len(cases)} corpora, {sum(len(c['texts']) for c in cases)} rows and predictions, {tied} of them tied; "
        f"largest difference of a probability {largest[True]:.2g}, and {largest[False]:.2g} in {other_stops} fits that stop elsewhere; {len(differing)} differ"
    )
    for line in differing[:50]:
        print(f"differs: {line}")
    return int(bool(differing) or other_stops > MAX_OTHER_STOPS * len(cases))


if __name__ == "__main__":
    sys.exit(main())
