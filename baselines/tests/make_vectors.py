#!/usr/bin/env python3
"""Write fixtures/debugging.json: what other people's libraries say of a small noisy training set.

    python3.11 -m venv peer && peer/bin/pip install datascope==0.0.32 numpy==1.26.4 && peer/bin/python make_vectors.py

Shapley values are DataScope's (`ShapleyImportance`, neighbour method, its defaults); influences are solved with the
whole Hessian by NumPy, at the weights of scikit-learn's `LogisticRegression()` converged as far as it goes.
"""

import json
from pathlib import Path

import numpy as np
from datascope.importance.importance import Importance  # noqa: F401 (its package needs it first)
from datascope.importance.shapley import ImportanceMethod, ShapleyImportance
from datascope.importance.utility import SklearnModelAccuracy
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(8)
n_train, n_validation, width = 60, 25, 12
direction = rng.normal(size=width)


def images(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, width)).round(3)
    return x, (x @ direction > 0).astype(int)


x, labels = images(n_train)
wrong = rng.choice(n_train, 18, replace=False)
labels[wrong] = 1 - labels[wrong]
validation_x, validation_labels = images(n_validation)

importance = ShapleyImportance(method=ImportanceMethod.NEIGHBOR, utility=SklearnModelAccuracy(LogisticRegression()))
shapley = np.array(importance.fit(x, labels).score(validation_x, validation_labels))

model = LogisticRegression(tol=1e-12, max_iter=10_000).fit(x, labels)
with_ones = np.column_stack([x, np.ones(n_train)])
p = model.predict_proba(x)[:, 1]
penalty = np.diag(np.r_[np.ones(width), 0.0])
hessian = with_ones.T @ (with_ones * (p * (1 - p))[:, None]) + penalty
validation = np.column_stack([validation_x, np.ones(n_validation)])
gradient = validation.T @ (model.predict_proba(validation_x)[:, 1] - validation_labels) / n_validation
influence = (p - labels) * (with_ones @ np.linalg.solve(hessian, gradient))

vectors = {
    "x": x.tolist(), "labels": labels.tolist(), "validation_x": validation_x.tolist(),
    "validation_labels": validation_labels.tolist(), "shapley": shapley.tolist(), "influence": influence.tolist(),
}
path = Path(__file__).parent / "fixtures" / "debugging.json"
path.write_text(json.dumps(vectors) + "\n", encoding="utf-8")
