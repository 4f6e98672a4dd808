#!/usr/bin/env python3
"""Vectors for the models with parameters and the metrics of own data: what scikit-learn 1.2.2 and XGBoost 1.7.6 say.

    make_learner_vectors.py > fixtures/learner.json

Every feature is a multiple of 1/64, so that it is exact and short in JSON.
"""

import json
import warnings

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC
from xgboost import XGBClassifier

warnings.simplefilter("ignore")
SEEDS = [3, 4_000_000_000]


def vote(svc: dict, logistic: dict, seed: int) -> VotingClassifier:
    return VotingClassifier([("svm", SVC(probability=True, random_state=seed, **svc)), ("lr", LogisticRegression(**logistic))], voting="soft")


MODELS = [
    ({"kind": "logistic_regression"}, lambda seed: LogisticRegression()),
    ({"kind": "logistic_regression", "C": 0.02, "max_iter": 7, "tol": 0.01}, lambda seed: LogisticRegression(C=0.02, max_iter=7, tol=0.01)),
    ({"kind": "logistic_regression", "C": 50, "tol": 1e-6}, lambda seed: LogisticRegression(C=50, tol=1e-6)),
    ({"kind": "svc"}, lambda seed: SVC()),
    ({"kind": "svc", "C": 0.3, "tol": 0.1}, lambda seed: SVC(C=0.3, tol=0.1)),
    ({"kind": "svc", "kernel": "linear", "C": 7}, lambda seed: SVC(kernel="linear", C=7)),
    ({"kind": "soft_voting"}, lambda seed: vote({}, {}, seed)),
    ({"kind": "soft_voting", "svc": {"kernel": "linear", "C": 0.2}, "logistic": {"C": 4}}, lambda seed: vote({"kernel": "linear", "C": 0.2}, {"C": 4}, seed)),
    ({"kind": "k_nearest"}, lambda seed: KNeighborsClassifier()),
    ({"kind": "k_nearest", "k": 1}, lambda seed: KNeighborsClassifier(n_neighbors=1)),
    ({"kind": "nearest_centroid"}, lambda seed: NearestCentroid()),
]


def fit(model, x: np.ndarray, y: np.ndarray, items: np.ndarray) -> list[int]:
    return model.fit(x, y).predict(items).tolist()


def problem(seed: int, n_rows: int, n_features: int, classes: list[int], n_items: int = 60) -> dict:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(classes), n_features))
    local = rng.permutation(np.resize(np.arange(len(classes)), n_rows))
    grid = lambda x: np.round(x * 64) / 64
    x = grid(centres[local] + 1.5 * rng.normal(size=(n_rows, n_features)))
    items = grid(centres[rng.integers(0, len(classes), n_items)] + 1.5 * rng.normal(size=(n_items, n_features)))
    y = np.array(classes)[local]
    fitted = [] if n_rows > 500 else [{"learner": learner, "predicted": [fit(make(seed), x, y, items) for seed in SEEDS]} for learner, make in MODELS]
    if len(classes) == 2:
        predicted = np.array(classes)[XGBClassifier().fit(x, local).predict(items)].tolist()
        fitted.append({"learner": {"kind": "gradient_boosting"}, "predicted": [predicted] * len(SEEDS)})
    as_64ths = lambda x: (x * 64).astype(int).ravel().tolist()
    return {"n_features": n_features, "x_64ths": as_64ths(x), "labels": y.tolist(), "items_64ths": as_64ths(items), "seeds": SEEDS, "fitted": fitted}


def metrics(seed: int, n_classes: int, n_items: int) -> dict:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, n_classes, n_items) // 2, rng.integers(0, n_classes, n_items)
    right = rng.random(n_items) < 0.6
    predicted[right] = truth[right]
    weights, groups = rng.integers(0, 4, n_items), rng.integers(0, 3, n_items) * 2
    weighed = [weights[groups == group].sum() for group in range(5)]
    worst = [np.average((truth == predicted)[groups == group], weights=weights[groups == group]) for group in range(5) if weighed[group]]
    return {
        "n_classes": n_classes, "truth": truth.tolist(), "predicted": predicted.tolist(), "weights": weights.tolist(), "groups": groups.tolist(),
        "balanced_accuracy": balanced_accuracy_score(truth, predicted, sample_weight=weights),
        "macro_f1": f1_score(truth, predicted, labels=range(n_classes), average="macro", zero_division=0, sample_weight=weights),
        "worst_group_accuracy": min(worst),
    }


print(json.dumps({
    "problems": [
        problem(1, 40, 6, [0, 1]), problem(2, 50, 24, [1, 2, 5]), problem(3, 36, 3, list(range(12))),
        problem(4, 20, 70, [3, 9]), problem(5, 600, 5, [0, 4]),
    ],
    "metrics": [metrics(1, 4, 30), metrics(2, 2, 9), metrics(3, 40, 300), metrics(4, 11, 25)],
}, separators=(",", ":")))
