"""Selection methods. Each sees what a participant sees: the training pool's ids and vectors.

A method takes the pool and how many clips to choose of each class, and returns rows of the pool by
class: nontargets first, then the keywords in alphabetical order.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from words import Language


class Pool:
    """The training pool of a language, grouped as a submission groups it."""

    def __init__(self, language: Language, ids: list[str], vectors: np.ndarray):
        self.ids, self.vectors = ids, vectors.astype(np.float64)
        self.targets = sorted(language.n_train)
        self.words = np.array([clip_id.split("/")[0] for clip_id in ids])
        # 0 for nontargets, then the keywords
        self.labels = np.array([self.targets.index(w) + 1 if w in self.targets else 0 for w in self.words])

    def rows(self, label: int) -> np.ndarray:
        return np.flatnonzero(self.labels == label)

    def submission(self, chosen: list[np.ndarray]) -> dict:
        """`chosen[label]` are rows of the pool."""
        names = [[self.ids[row] for row in rows] for rows in chosen]
        return {"targets": dict(zip(self.targets, names[1:], strict=True)), "nontargets": names[0]}


def distances(x: np.ndarray) -> np.ndarray:
    """Euclidean distances between rows, `(n, n)`; the sums are exact, as features are multiples of 1/128."""
    squares = (x**2).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0))


def by_typicality(pool: Pool, rows: np.ndarray) -> np.ndarray:
    """Rows ordered from the middle of the group outwards: by their median distance to the others."""
    return rows[np.argsort(np.median(distances(pool.vectors[rows]), axis=1), kind="stable")]


def spread_over_words(pool: Pool, ordered: np.ndarray, n: int) -> np.ndarray:
    """The first `n` of `ordered`, taking a second clip of a word only when every word gave one."""
    words = pool.words[ordered]
    turn = [np.count_nonzero(words[:k] == word) for k, word in enumerate(words)]
    return ordered[np.argsort(turn, kind="stable")][:n]


def most_typical(pool: Pool, counts: list[int]) -> list[np.ndarray]:
    """Clips in the middle of their own word."""
    chosen = [by_typicality(pool, pool.rows(label))[:n] for label, n in enumerate(counts)]
    nontarget_words = dict.fromkeys(pool.words[pool.rows(0)])
    middles = [by_typicality(pool, np.flatnonzero(pool.words == word)) for word in nontarget_words]
    chosen[0] = spread_over_words(pool, np.concatenate(middles), counts[0])
    return chosen


def farthest_point(pool: Pool, counts: list[int]) -> list[np.ndarray]:
    """Greedy k-centre in each class: always the clip farthest from those already taken."""

    def walk(rows: np.ndarray, n: int) -> np.ndarray:
        d = distances(pool.vectors[rows])
        taken = [int(np.median(d, axis=1).argmin())]
        while len(taken) < n:
            taken.append(int(d[taken].min(axis=0).argmax()))
        return rows[taken]

    return [walk(pool.rows(label), n) for label, n in enumerate(counts)]


def cross_validated(pool: Pool, counts: list[int]) -> list[np.ndarray]:
    """Drop the third of each class that out-of-fold models believe least, then cover the rest.

    Covering: greedily add the clip that brings the class's kept clips closest to a chosen one.
    """
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression(C=0.01, max_iter=1000)
    belief = cross_val_predict(model, pool.vectors, pool.labels, cv=folds, method="predict_proba")

    def cover(rows: np.ndarray, label: int, n: int) -> np.ndarray:
        kept = rows[np.argsort(-belief[rows, label], kind="stable")][: max(n, len(rows) * 2 // 3)]
        d = distances(pool.vectors[kept])
        nearest, taken = np.full(len(kept), d.max()), []
        while len(taken) < n:
            cost = np.minimum(nearest, d).sum(axis=1)
            cost[taken] = np.inf
            taken.append(int(cost.argmin()))
            nearest = np.minimum(nearest, d[taken[-1]])
        return kept[taken]

    return [cover(pool.rows(label), label, n) for label, n in enumerate(counts)]


def random(pool: Pool, counts: list[int], rng: np.random.Generator) -> list[np.ndarray]:
    """Clips drawn without looking."""
    return [rng.choice(pool.rows(label), n, replace=False) for label, n in enumerate(counts)]
