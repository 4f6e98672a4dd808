#!/usr/bin/env python3
"""Vectors for the buyer's models: what scikit-learn 1.2.2 predicts.

    make_buyer_model_vectors.py > fixtures/buyer_models.json

Training sets are drawn with replacement, as the benchmark draws them, so that rows come several times.
"""

import json

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier


def case(seed: int, n_rows: int, n_features: int) -> dict:
    rng = np.random.default_rng(seed)
    seller = rng.normal(size=(n_rows, n_features)).round(3)
    labels = (seller[:, 0] + 0.5 * seller[:, 1] + rng.normal(scale=0.5, size=n_rows) > 0).astype(int)
    drawn = rng.integers(0, n_rows, n_rows)
    x, y, rows = seller[drawn], labels[drawn], rng.normal(size=(60, n_features)).round(3)
    knn = KNeighborsClassifier(n_neighbors=9).fit(x, y)
    stumps = GradientBoostingClassifier(n_estimators=100, learning_rate=1.0, max_depth=1, random_state=0).fit(x, y)
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "rows": rows.tolist(),
        "k_nearest": knn.predict(rows).tolist(),
        "boosted_stumps": stumps.predict(rows).tolist(),
    }


print(json.dumps([case(1, 40, 5), case(2, 12, 8), case(3, 150, 3)]))
