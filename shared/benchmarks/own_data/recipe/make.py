"""Makes the demo's contests of own data from data sets that come with scikit-learn.

    python shared/benchmarks/own_data/recipe/make.py demo

- `selection`: handwritten digits (E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
  Repository, 1998, CC BY 4.0), 8 x 8 pixels: which 50 of 700 train the best model?
- `debugging`: measurements of breast tissue (W. Wolberg, O. Mangasarian, N. Street and W. Street, "Breast Cancer Wisconsin
  (Diagnostic)", UCI Machine Learning Repository, 1993, CC BY 4.0), a fifth of 240 labels turned round.
- `curation`: digits again, unbalanced and a third of them mislabelled: make a better training set of them.
- `acquisition`: the same measurements at three clinics: one sells clean data, one few benign ones, one wrong labels.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

SELECTION = """schema: 1
task: selection
title: Handwritten digits
description: |
  Choose at most 50, or 20, of 700 digits, drawn with 8 x 8 pixels, so that a *logistic regression* trained on them reads the others best.
unit: digits
digits: 4
leaderboards:
  - {name: digits-50, about: at most fifty digits, max_examples: 50}
  - {name: digits-20, about: at most twenty digits, max_examples: 20}
classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
pool: {features: pool.npy, examples: pool.csv}
eval: {features: eval.npy, examples: eval.csv}
public_eval: {features: practice.npy, examples: practice.csv}
model: {kind: logistic_regression, C: 1.0}
metric: macro_f1
allow_duplicates: true
"""

DEBUGGING = """schema: 1
task: debugging
title: Mislabelled tissue
description: |
  A fifth of the diagnoses are wrong. Which of them would you look at first?
unit: samples
digits: 3
leaderboards:
  - {name: tissue, about: 240 samples with wrong diagnoses}
classes: [malignant, benign]
train: {features: train.npy, examples: train.csv}
eval: {features: eval.npy, examples: eval.csv}
public_eval: {features: practice.npy, examples: practice.csv}
target_share: 0.98
model: {kind: k_nearest, k: 5}
metric: accuracy
"""

ACQUISITION = """schema: 1
task: acquisition
title: Three clinics
description: |
  Three clinics sell measurements of tissue, and their summaries are all that you see before you buy.
unit: samples
digits: 4
leaderboards:
  - {name: clinics, about: three clinics and one budget}
classes: [malignant, benign]
sellers:
  north: {features: north.npy, examples: north.csv}
  south: {features: south.npy, examples: south.csv}
  west: {features: west.npy, examples: west.csv}
prices: {north: 120, south: 80, west: 40}
budget: 40
eval: {features: eval.npy, examples: eval.csv}
model: {kind: logistic_regression}
metric: balanced_accuracy
"""


CURATION = """schema: 1
task: curation
title: A better set of digits
description: |
  The model is fixed, and the start set is unbalanced and partly mislabelled. Make a better one of it, or of other digits.
unit: digits
digits: 4
leaderboards:
  - {name: digits-set, about: at most a thousand digits, max_examples: 1000, max_bytes: 1000000}
classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
start: start.csv
label_book: book.csv
eval: {features: eval.npy, examples: eval.csv}
model: {kind: logistic_regression}
metric: accuracy
allow_duplicates: true
"""


def write(folder, name, x, columns):
    np.save(folder / f"{name}.npy", x)
    lines = [",".join(columns)] + [",".join(row) for row in zip(*columns.values())]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def submit(folder, board, submitter, name, artifact):
    path = folder / "submissions" / board / submitter
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(artifact) + "\n")


def ids(prefix, rows):
    return [f"{prefix}{row:04d}" for row in rows]


def selection(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(SELECTION)
    digits = load_digits()
    x, y = digits.data.astype(np.uint8), digits.target.astype(str)
    order = np.random.RandomState(7).permutation(len(x))
    pool, practice, hidden = order[:700], order[700:900], order[900:]
    for name, rows in [("pool", pool), ("practice", practice), ("eval", hidden)]:
        write(folder, name, x[rows], {"id": ids("d", rows), "label": list(y[rows])})
    random = np.random.RandomState(3)
    for board, n in [("digits-50", 50), ("digits-20", 20)]:
        # as many of each digit, those nearest to the digit's mean
        central = []
        for digit in sorted(set(y)):
            of_digit = pool[y[pool] == digit]
            distance = ((x[of_digit] - x[of_digit].mean(axis=0)) ** 2).sum(axis=1)
            central += list(of_digit[np.argsort(distance, kind="stable")][: n // 10])
        submit(folder, board, "ada", "central.json", {"ids": ids("d", central)})
        balanced = [row for digit in sorted(set(y)) for row in random.choice(pool[y[pool] == digit], n // 10, replace=False)]
        submit(folder, board, "bo", "balanced.json", {"ids": ids("d", balanced)})
    twice = ids("d", pool[:10])
    submit(folder, "digits-50", "hasty", "bad_twice.json", {"ids": twice + twice[:2] + ["d9999"]})


def as_table(x, labels):
    header = ",".join(["label"] + [f"f{k}" for k in range(x.shape[1])])
    return "\n".join([header] + [",".join([label, *map(str, row)]) for label, row in zip(labels, x)]) + "\n"


def curation(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(CURATION)
    digits = load_digits()
    x, y = digits.data.astype(np.uint8), digits.target.astype(str)
    random = np.random.RandomState(7)
    order = random.permutation(len(x))
    # of the higher digits there are fewer
    start = np.array([row for row in order[:700] if random.rand() < 1 - 0.08 * digits.target[row]])
    given = y[start].copy()
    wrong = random.choice(len(start), len(start) // 3, replace=False)
    given[wrong] = random.choice(sorted(set(y)), len(wrong))
    (folder / "start.csv").write_text(as_table(x[start], given))
    book = [row for digit in sorted(set(y)) for row in [r for r in order[700:800] if y[r] == digit][:5]]
    (folder / "book.csv").write_text(as_table(x[book], y[book]))
    hidden = order[800:1400]
    write(folder, "eval", x[hidden], {"id": ids("d", hidden), "label": list(y[hidden])})
    path = folder / "submissions" / "digits-set"
    for submitter in ["ada", "bo", "hasty"]:
        (path / submitter).mkdir(parents=True, exist_ok=True)
    # those whose neighbours agree
    kept = []
    for row in range(len(start)):
        nearest = np.argsort(((x[start].astype(int) - x[start][row]) ** 2).sum(axis=1), kind="stable")[1:6]
        kept.append(np.mean(given[nearest] == given[row]) >= 0.5)
    kept = np.array(kept)
    (path / "ada" / "cleaned.csv").write_text(as_table(x[start][kept], given[kept]))
    (path / "bo" / "as-it-is.csv").write_text(as_table(x[start], given))
    (path / "hasty" / "bad_width.csv").write_text(as_table(x[start][:20, :60], given[:20]))


def tissue():
    data = load_breast_cancer()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    order = np.random.RandomState(11).permutation(len(x))
    return x[order], np.array(["malignant", "benign"])[data.target[order]]


def debugging(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(DEBUGGING)
    x, y = tissue()
    random = np.random.RandomState(5)
    given = y[:240].copy()
    wrong = random.choice(240, 48, replace=False)
    given[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
    write(folder, "train", x[:240], {"id": ids("t", range(240)), "given": list(given), "truth": list(y[:240])})
    write(folder, "practice", x[240:320], {"id": ids("t", range(240, 320)), "label": list(y[240:320])})
    write(folder, "eval", x[320:], {"id": ids("t", range(320, len(x))), "label": list(y[320:])})
    # first those whose neighbours have the other label
    others = []
    for row in range(240):
        nearest = np.argsort(((x[:240] - x[row]) ** 2).sum(axis=1), kind="stable")[1:8]
        others.append(-np.mean(given[nearest] != given[row]))
    submit(folder, "tissue", "ada", "neighbours.json", {"order": ids("t", np.argsort(others, kind="stable"))})
    submit(folder, "tissue", "bo", "backwards.json", {"order": ids("t", range(239, -1, -1))})
    submit(folder, "tissue", "hasty", "bad_short.json", {"order": ids("t", range(200))})


def acquisition(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(ACQUISITION)
    x, y = tissue()
    random = np.random.RandomState(5)
    north = np.arange(0, 100)
    south = np.array([row for row in range(100, 260) if y[row] == "malignant" or row % 8 == 0])
    west = np.arange(260, 360)
    labels = y.copy()
    wrong = random.choice(west, 45, replace=False)
    labels[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
    for name, rows in [("north", north), ("south", south), ("west", west)]:
        write(folder, name, x[rows], {"label": list(labels[rows])})
    write(folder, "eval", x[360:], {"id": ids("t", range(360, len(x))), "label": list(y[360:])})
    submit(folder, "clinics", "ada", "north-first.json", {"counts": {"north": 33}})
    submit(folder, "clinics", "bo", "a-bit-of-all.json", {"counts": {"north": 11, "south": 12, "west": 33}})
    submit(folder, "clinics", "hasty", "bad_rich.json", {"counts": {"north": 100, "east": 3}})


if __name__ == "__main__":
    demo = Path(sys.argv[1])
    selection(demo / "selection")
    debugging(demo / "debugging")
    acquisition(demo / "acquisition")
    curation(demo / "curation")
