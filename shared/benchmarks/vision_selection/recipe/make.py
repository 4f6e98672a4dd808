#!/usr/bin/env python3
"""Make the demo data of Selection for Vision: find the digits 3, 5 and 8 among all handwritten digits.

    make.py OUT [--seed N]

Writes the public challenge's layout (OUT/embeddings, OUT/test_sets, OUT/examples) and
OUT/submissions/open/SUBMITTER/FILE. The same seed and versions give the same bytes.
"""

import argparse
import csv
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recipe"))
import digits as source  # noqa: E402, what three recipes share

CONCEPTS = {"3": (70, 40), "5": (70, 40), "8": (70, 40)}  # test images, of which show the digit
N_EXAMPLES = 5
Labels = dict[str, dict[str, int]]


def write_table(path: Path, ids: np.ndarray, vectors: np.ndarray, **columns: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"ImageID": ids.tolist(), "embedding": pa.array(vectors.tolist(), pa.list_(pa.float32())), **columns}
    pq.write_table(pa.table(table), path, compression="zstd")


def at_random(pool: source.Digits, rng: np.random.Generator, n: int) -> Labels:
    """As many positive as negative images, labelled rightly."""
    chosen = {}
    for concept in CONCEPTS:
        is_positive = pool.digits == int(concept)
        rows = [*rng.choice(np.flatnonzero(is_positive), n // 2, replace=False)]
        rows += [*rng.choice(np.flatnonzero(~is_positive), n - n // 2, replace=False)]
        chosen[concept] = {str(pool.ids[row]): int(is_positive[row]) for row in rows}
    return chosen


def nearest(pool: source.Digits, examples: dict[str, np.ndarray], n: int) -> Labels:
    """The images nearest to the examples are called positive, the farthest negative: nobody looks at them."""
    chosen = {}
    for concept, vectors in examples.items():
        distances = np.linalg.norm(pool.vectors[:, None] - vectors[None], axis=2).min(axis=1)
        order = np.argsort(distances, kind="stable")
        near, far = order[: n // 2], order[-(n - n // 2) :]
        chosen[concept] = {str(pool.ids[r]): 1 for r in near} | {str(pool.ids[r]): 0 for r in far}
    return chosen


def hard_negatives(pool: source.Digits, examples: dict[str, np.ndarray], n: int) -> Labels:
    """Images near the examples, labelled by somebody who looks: half of the others look alike."""
    chosen = {}
    for concept, vectors in examples.items():
        distances = np.linalg.norm(pool.vectors[:, None] - vectors[None], axis=2).min(axis=1)
        order = np.argsort(distances, kind="stable")
        is_positive = pool.digits[order] == int(concept)
        rows = np.concatenate([order[is_positive][: n // 2], order[~is_positive][: n - n // 2]])
        chosen[concept] = {str(pool.ids[r]): int(pool.digits[r] == int(concept)) for r in rows}
    return chosen


def noisy(labels: Labels, rng: np.random.Generator, share: float) -> Labels:
    """The same images with some labels wrong."""
    return {c: {i: int(v ^ (rng.random() < share)) for i, v in of.items()} for c, of in labels.items()}


def zipped(labels: Labels) -> bytes:
    """The CSV form: a file a concept."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for concept, of_concept in labels.items():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(["ImageID", "Confidence"])
            writer.writerows(of_concept.items())
            # a fixed time, so that the same labels give the same bytes
            archive.writestr(zipfile.ZipInfo(f"{concept}.csv", (2024, 1, 1, 0, 0, 0)), text.getvalue())
    return packed.getvalue()


def broken(labels: Labels) -> dict[str, Labels]:
    """Files that break a rule, by name."""
    first = next(iter(labels["3"]))
    several = {c: dict(of) for c, of in labels.items() if c != "8"}
    several["3"][first] = 2
    several["5"]["f" * 16] = 1
    several["7"] = dict(labels["8"])
    return {
        "hasty/bad_unknown_id.json": {**labels, "5": {**labels["5"], "f" * 16: 1}},
        "hasty/bad_label.json": {**labels, "3": {**labels["3"], first: 2}},
        "hasty/bad_missing_concept.json": {c: of for c, of in labels.items() if c != "8"},
        "hasty/bad_one_label.json": {**labels, "3": dict.fromkeys(labels["3"], 1)},
        "hasty/bad_several_reasons.json": several,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    out, rng = arguments.out, np.random.default_rng(arguments.seed)
    everything = source.load()
    order = rng.permutation(len(everything.ids))
    taken, examples = np.zeros(len(order), bool), {}
    for concept, (n, n_positive) in CONCEPTS.items():
        is_free = ~taken[order]
        is_positive = everything.digits[order] == int(concept)
        positives = order[is_free & is_positive]
        test = rng.permutation(np.concatenate([positives[:n_positive], order[is_free & ~is_positive][: n - n_positive]]))
        taken[test] = True
        truth = [str(int(digit == int(concept))) for digit in everything.digits[test]]
        path = out / f"test_sets/alpha_test_set_{concept}_64.parquet"
        write_table(path, everything.ids[test], everything.vectors[test], Confidence=truth)
        shown = positives[n_positive : n_positive + N_EXAMPLES]
        examples[concept] = everything.vectors[shown]
        path = out / f"examples/alpha_example_set_{concept}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("ImageID,Confidence\n" + "".join(f"{i},1\n" for i in everything.ids[shown]))
    rows = order[~taken[order]]
    pool = source.Digits(everything.ids[rows], everything.vectors[rows], everything.digits[rows])
    write_table(out / "embeddings/train_emb_64_dataperf.parquet", pool.ids, pool.vectors)
    small = at_random(pool, rng, 20)
    files: dict[str, Labels | bytes] = {
        "coin-flip/random_20.json": small,
        "coin-flip/random_120.zip": zipped(at_random(pool, rng, 120)),
        "near-enough/nearest_60.json": nearest(pool, examples, 60),
        "second-look/hard_negatives_60.json": hard_negatives(pool, examples, 60),
        "many-hands/noisy_120.json": noisy(at_random(pool, rng, 120), rng, 0.15),
        **broken(small),
        "hasty/bad_truncated.zip": zipped(small)[:-30],
    }
    for name, content in files.items():
        path = out / "submissions/open" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (json.dumps(content, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
