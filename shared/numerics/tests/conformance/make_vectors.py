#!/usr/bin/env python3
"""Write the vectors that tests/conformance/main.rs compares the frozen models with.

    pip install numpy==1.26.4 scipy==1.11.4 scikit-learn==1.2.2
    python make_vectors.py fixtures

Every input is a multiple of 1/64, so that it is exact in `f32` and short in JSON. The versions are
part of the benchmarks' definitions: another release gives other numbers.
"""
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.svm import SVC

warnings.simplefilter("ignore")
assert (sklearn.__version__, np.__version__) == ("1.2.2", "1.26.4"), "see the docstring"
SEEDS = [5, 69, 4_000_000_000]


def mt19937():
    words = {str(seed): np.random.RandomState(seed).randint(0, 2**32, 700, dtype=np.uint32)[[0, 1, 2, 623, 624, 699]].tolist() for seed in (0, 5, 1111, 2**32 - 1)}
    seeds = {str(seed): int(np.random.RandomState(seed).randint(2**31 - 1)) for seed in range(40)}
    generator = np.random.RandomState(1111)  # in sequence: one call's draws shift the next one's
    sizes = [(1, 5), (2, 7), (100, 6), (128, 6), (129, 6), (977, 8), (50, 0), (4096, 4), (4097, 4)]
    choices = [{"n": n, "size": k, "drawn": generator.choice(n, size=k, replace=True).tolist()} for n, k in sizes]
    return {"words_at_0_1_2_623_624_699": words, "libsvm_seeds": seeds, "choices_of_1111": choices}


def f1():
    rng = np.random.default_rng(3)
    cases = [
        ([0, 0, 1, 1], [0, 0, 1, 2]),  # predicted only
        ([0, 1, 2, 2], [0, 1, 1, 1]),  # true only
        ([0, 0, 0], [1, 1, 1]),  # nothing right
        ([1, 1], [1, 1]),  # one class
        ([0, 1], [1, 0]),
    ]
    cases += [(rng.integers(0, k, n).tolist(), rng.integers(0, k, n).tolist()) for k, n in ((2, 9), (6, 40), (4, 25), (6, 7))]
    return [
        {
            "truth": t,
            "predicted": p,
            "macro_f1": f1_score(t, p, average="macro"),
            "accuracy": accuracy_score(t, p),
            "of_class_1": [
                score(t, p, labels=[1], average="macro", zero_division=0) for score in (f1_score, precision_score, recall_score)
            ],
        }
        for t, p in cases
    ]


def training_sets():
    """Name, x, y: the shapes that took different paths while the models were written."""
    rng = np.random.default_rng(1)
    grid = lambda x: np.round(x * 64) / 64
    centres = rng.normal(size=(6, 40)) * 0.6

    def draw(y, width, spread=1.0):
        y = np.array(y)
        return grid(centres[y, :width] + spread * rng.normal(size=(len(y), width))), y

    yield "six_classes", *draw(rng.permutation(np.repeat(np.arange(6), 8)), 24)
    yield "two_classes", *draw(rng.permutation(np.repeat([0, 3], [14, 11])), 16)
    yield "class_missing", *draw([0, 2, 5] * 9, 33)
    yield "one_nontarget", *draw([0] + [1, 2, 4] * 8, 10)
    yield "one_row_a_class", *draw([0, 1, 2, 3, 4, 5], 8)
    yield "two_rows", *draw([2, 1], 5)
    yield "unbalanced", *draw([1, 2] + [0] * 40, 12)
    yield "one_feature", *draw([0, 1, 3] * 7, 1)
    x, y = draw([0, 1, 2] * 8, 20)
    x[12:] = x[:12]
    yield "duplicates", x, y
    x, y = draw([0, 1] * 6, 7)
    x[1::2] = x[::2]
    yield "one_vector_two_labels", x, y
    yield "nothing_varies", np.full((7, 3), 0.5), np.array([0, 1, 1, 0, 2, 1, 0])
    x, y = draw([0, 1, 4] * 6, 9)
    x[:, 4] = 3.25
    yield "constant_column", x, y
    yield "overlapping", *draw(rng.integers(0, 2, 150), 6, spread=3.0)


def soft_voting():
    rng = np.random.default_rng(2)
    for name, x, y in training_sets():
        rows = np.round((x[rng.integers(0, len(y), 20)] + 0.8 * rng.normal(size=(20, x.shape[1]))) * 64) / 64
        rows[0] = x[0]
        fitted = []
        for seed in SEEDS:
            parts = [("svm", SVC(probability=True, random_state=seed)), ("lr", LogisticRegression(random_state=seed))]
            fitted.append(VotingClassifier(parts, voting="soft").fit(x.astype(np.float32), y))
        svm, lr = fitted[0].estimators_
        rows32 = rows.astype(np.float32)
        yield {
            "name": name,
            "n_features": x.shape[1],
            "x_64ths": (x * 64).astype(int).ravel().tolist(),
            "class_idx": y.tolist(),
            "rows_64ths": (rows * 64).astype(int).ravel().tolist(),
            "seeds": SEEDS,
            "gamma": svm._gamma,
            "support_idx": svm.support_.tolist(),
            "dual_coefficients": svm._dual_coef_.ravel().tolist(),
            "rho": (-svm._intercept_).tolist(),
            "sigmoids": [list(zip(v.estimators_[0]._probA.tolist(), v.estimators_[0]._probB.tolist())) for v in fitted],
            "svc_probabilities": svm.predict_proba(rows32).ravel().tolist(),
            "coefficients": lr.coef_.ravel().tolist(),
            "intercepts": lr.intercept_.tolist(),
            "n_iter": int(lr.n_iter_[0]),
            "logistic_probabilities": lr.predict_proba(rows32).ravel().tolist(),
            "logistic_predicted": np.unique(y)[lr.predict(rows32)].tolist(),  # the vote renumbers the labels
            "predicted": [v.predict(rows32).tolist() for v in fitted],
        }


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    for name, vectors in (("mt19937", mt19937()), ("f1", f1()), ("soft_voting", list(soft_voting()))):
        (out / f"{name}.json").write_text(json.dumps(vectors, separators=(",", ":")) + "\n")
