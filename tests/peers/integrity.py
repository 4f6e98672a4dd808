#!/usr/bin/env python3
"""Compare `examples/agree` with cleanlab's `find_label_issues` and with SciPy, on random cases.

cleanlab takes any of the rows whose margins are equal, as NumPy's unstable sort has them. Flags have to be the same when NumPy
is told to sort stably, and with cleanlab as it is wherever no two margins of a class are equal.
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from checks import Checks
from cleanlab.filter import find_label_issues
from scipy import stats

N_CASES = {"quick": 400, "full": 4000}


def probabilities(random: np.random.Generator, n_rows: int, n_classes: int, labels: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 and lean to their labels; some in coarse steps, so that margins are equal."""
    sharpness = random.choice([0.3, 1.0, 3.0])
    scores = random.normal(size=(n_rows, n_classes)) * sharpness
    scores[np.arange(n_rows), labels] += random.choice([0.0, 1.0, 3.0])
    rows = np.exp(scores - scores.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    form = random.integers(4)
    if form == 0:  # like ten neighbours: tenths
        rows = np.array([random.multinomial(10, row) for row in rows]) / 10
    elif form == 1:  # equal rows
        rows = rows[random.integers(max(1, n_rows // 4), size=n_rows)]
    return rows


def flag_cases(random: np.random.Generator, n: int) -> list:
    cases = []
    for number in range(n):
        n_classes = int(random.choice([2, 3, 5, 10, 30, 100]))
        n_rows = int(random.integers(n_classes + 1, 60 + 12 * n_classes))
        # shares that leave some classes with an item or two, and some with none
        shares = random.dirichlet(np.full(n_classes, random.choice([0.1, 1.0, 50.0])))
        labels = random.choice(n_classes, size=n_rows, p=shares)
        labels[: min(2, n_rows)] = [0, n_classes - 1][: min(2, n_rows)]
        cases.append((labels, probabilities(random, n_rows, n_classes, labels)))
    return cases


def cleanlab_flags(labels: np.ndarray, rows: np.ndarray, is_stable: bool) -> np.ndarray:
    def find() -> np.ndarray:
        return find_label_issues(labels, rows, filter_by="prune_by_noise_rate", n_jobs=1)

    if not is_stable:
        return find()
    sort = np.argsort
    with mock.patch.object(np, "argsort", lambda values, *args, **kwargs: sort(values, *args, **{**kwargs, "kind": "stable"})):
        return find()


def has_equal_margins(labels: np.ndarray, rows: np.ndarray) -> bool:
    for given in np.unique(labels):
        own = rows[labels == given]
        for other in range(rows.shape[1]):
            margins = own[:, other] - own[:, given]
            if other != given and len(np.unique(margins)) < len(margins):
                return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--size", choices=N_CASES, default="quick")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    random, check, n = np.random.default_rng(19), Checks(), N_CASES[args.size]

    def answers(cases: list) -> list:
        program = args.bin / "examples" / "agree"
        return json.loads(subprocess.run([program], input=json.dumps(cases), text=True, capture_output=True, check=True).stdout)

    flags = flag_cases(random, n)
    ours = answers([
        {"kind": "flags", "labels": labels.tolist(), "n_classes": rows.shape[1], "probabilities": rows.ravel().tolist()}
        for labels, rows in flags
    ])
    n_flagged, n_distinct, differing, differing_as_is = 0, 0, [], []
    for number, ((labels, rows), own) in enumerate(zip(flags, ours)):
        n_flagged += sum(own)
        if not np.array_equal(cleanlab_flags(labels, rows, True), own):
            differing.append((number, rows.shape))
        if rows.shape[1] <= 16 and not has_equal_margins(labels, rows):
            n_distinct += 1
            if not np.array_equal(cleanlab_flags(labels, rows, False), own):
                differing_as_is.append((number, rows.shape))
    check(f"{n} cases of flags with a stable sort, {n_flagged} flags", not differing, differing[:5])
    check(f"{n_distinct} of them as cleanlab is, without equal margins", not differing_as_is, differing_as_is[:5])

    pairs = []
    for _ in range(n):
        size, steps = int(random.integers(2, 60)), int(random.choice([2, 5, 1000]))
        pairs.append(random.integers(steps, size=(2, size)) / steps)
    ours = answers([{"kind": "tau_b", "one": a.tolist(), "other": b.tolist()} for a, b in pairs])
    theirs = [stats.kendalltau(a, b).statistic for a, b in pairs]
    differing = [(a.tolist(), b.tolist()) for (a, b), own, their in zip(pairs, ours, theirs)
                 if (own is None) != np.isnan(their) or (own is not None and abs(own - their) > 1e-12)]
    check(f"{n} of Kendall's tau-b", not differing, differing[:2])

    boards = []
    for _ in range(n):
        n_boards, size, steps = int(random.integers(3, 9)), int(random.integers(2, 40)), int(random.choice([2, 5, 1000]))
        boards.append(random.integers(steps, size=(n_boards, size)) / steps)
    ours = answers([{"kind": "w", "rankings": rankings.tolist()} for rankings in boards])
    differing, n_defined = [], 0
    for rankings, own in zip(boards, ours):
        n_boards, size = rankings.shape
        is_constant = all(len(np.unique(row)) == 1 for row in rankings)
        if is_constant or own is None:
            if is_constant != (own is None):
                differing.append(rankings.tolist())
            continue
        n_defined += 1
        if size > 2:  # SciPy takes three entries and more
            their = stats.friedmanchisquare(*rankings.T).statistic / (n_boards * (size - 1))
        else:
            ranks = np.array([stats.rankdata(row) for row in rankings])
            ties = sum(2**3 - 2 for row in rankings if row[0] == row[1])
            spread = ((ranks.sum(axis=0) - n_boards * 1.5) ** 2).sum()
            their = 12 * spread / (n_boards**2 * (2**3 - 2) - n_boards * ties)
        if abs(own - their) > 1e-10:
            differing.append((own, their))
    check(f"{n_defined} of Kendall's W, by Friedman's statistic", not differing, differing[:2])

    shares = [(int(random.integers(0, size + 1)), size) for size in random.integers(1, 5000, size=n).tolist()]
    ours = answers([{"kind": "share", "n_found": found, "n": size} for found, size in shares])
    theirs = [stats.binomtest(found, size).proportion_ci(method="wilson") for found, size in shares]
    differing = [share for share, own, their in zip(shares, ours, theirs)
                 if abs(own[0] - their.low) > 1e-12 or abs(own[1] - their.high) > 1e-12]
    check(f"{n} intervals of shares", not differing, differing[:5])
    print(f"integrity: {check.n - len(check.failed)} of {check.n} agree")
    return int(bool(check.failed))


if __name__ == "__main__":
    sys.exit(main())
