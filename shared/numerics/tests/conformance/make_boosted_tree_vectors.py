#!/usr/bin/env python3
"""Vectors for the boosted trees: what XGBoost 1.7.6 fits, tree by tree, and the margins it predicts.

    make_boosted_tree_vectors.py [FIRST_SEED] > fixtures/boosted_trees.json

Features and labels are made of NumPy's legacy generator's words, which the test makes again, so only the results are
kept: every margin as the bits of its float, and a digest of all nodes of all trees.
"""

import hashlib
import json
import sys

import numpy as np
import xgboost

N_TEST = 20
SHAPES = [(1, 3), (5, 4), (40, 30), (90, 7), (300, 60), (511, 20)]
FEATURES = ["dense", "rectified", "sparse", "few", "bits", "some constant", "constant", "copies", "neighbours", "huge", "tiny", "signed zeros"]
LABELS = ["random", "zeros", "ones", "rule", "noisy rule", "rare"]


def features(kind: str, words: np.ndarray) -> np.ndarray:
    """From `(n_rows, n_features)` words of 32 bits; every step is exact in 32-bit floats."""
    dense = (words >> 8).astype(np.float32) / np.float32(2**24) - np.float32(0.5)
    few = (words >> 30).astype(np.float32)
    columns = np.arange(words.shape[1])
    return {
        "dense": lambda: dense,
        "rectified": lambda: np.maximum(dense - np.float32(0.125), np.float32(0)),
        "sparse": lambda: np.where(words % 16 == 0, dense, np.float32(0)),
        "few": lambda: few,
        "bits": lambda: (words >> 31).astype(np.float32),
        "some constant": lambda: np.where(columns % 3 > 0, np.float32(1.5), dense),
        "constant": lambda: np.ones_like(dense),
        "copies": lambda: dense[:, columns % 4 % words.shape[1]],
        "neighbours": lambda: np.float32(1) + few * np.float32(2**-23),
        "huge": lambda: dense * np.float32(2.0**100),
        "tiny": lambda: dense * np.float32(2.0**-130),
        "signed zeros": lambda: np.array([-0.0, 0.0, 1.0, -1.0], np.float32)[words >> 30],
    }[kind]()


def labels(kind: str, words: np.ndarray, x: np.ndarray) -> np.ndarray:
    rule = x[:, 0] > x[len(x) // 2, 0]
    return {
        "random": lambda: words >> 31 == 1,
        "zeros": lambda: np.zeros(len(x), bool),
        "ones": lambda: np.ones(len(x), bool),
        "rule": lambda: rule,
        "noisy rule": lambda: rule ^ (words % 3 == 0),
        "rare": lambda: words % 16 == 0,
    }[kind]()


def nodes(booster: xgboost.Booster) -> str:
    """A line a tree: `feature/bits of the cut/left child` or `bits of the leaf`, floats as unsigned integers."""
    model = json.loads(booster.save_raw("json").decode())["learner"]["gradient_booster"]["model"]
    lines = []
    for tree in model["trees"]:
        bits = np.array(tree["split_conditions"], np.float32).view(np.uint32)
        left, right, split = tree["left_children"], tree["right_children"], tree["split_indices"]
        assert all(a < 0 or b == a + 1 for a, b in zip(left, right))
        lines.append(" ".join(f"{split[k]}/{bits[k]}/{left[k]}" if left[k] >= 0 else str(bits[k]) for k in range(len(left))))
    return "\n".join(lines)


def case(seed: int, kind: str, n_rows: int, n_features: int, label_kind: str) -> dict:
    generator = np.random.RandomState(seed)
    words = generator.randint(0, 2**32, (n_rows + N_TEST, n_features), dtype=np.uint32)
    x, test_x = np.split(features(kind, words), [n_rows])
    y = labels(label_kind, generator.randint(0, 2**32, n_rows, dtype=np.uint32), x)
    # what XGBClassifier does, which refuses labels that are all 1
    parameters = {"objective": "binary:logistic", "nthread": 1}
    booster = xgboost.train(parameters, xgboost.DMatrix(x, label=y.astype(np.float32)), 100)
    margins = booster.predict(xgboost.DMatrix(test_x), output_margin=True)
    return {
        "seed": seed,
        "features": kind,
        "labels": label_kind,
        "n_rows": n_rows,
        "n_features": n_features,
        "trees": "sha256:" + hashlib.sha256(nodes(booster).encode()).hexdigest(),
        "margins": margins.view(np.uint32).tolist(),
    }


def main() -> None:
    first_seed, cases = int(sys.argv[1]) if len(sys.argv) > 1 else 0, []
    for kind in FEATURES:
        for n_rows, n_features in SHAPES:
            for k in range(2):
                seed = first_seed + len(cases)
                cases.append(case(seed, kind, n_rows, n_features, LABELS[(seed + k) % len(LABELS)]))
    for kind, label_kind in (("rectified", "noisy rule"), ("dense", "random")):  # the benchmark's size
        cases.append(case(first_seed + len(cases), kind, 300, 2048, label_kind))
    print("[" + ",\n".join(json.dumps(one) for one in cases) + "]")


main()
