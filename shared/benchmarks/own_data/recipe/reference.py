"""Scores artifacts of own data with scikit-learn 1.2.2 and XGBoost 1.7.6, from the folder that an organizer writes.

    python shared/benchmarks/own_data/recipe/reference.py score FOLDER ARTIFACT [--leaderboard NAME]
    python shared/benchmarks/own_data/recipe/reference.py expected DEMO      writes expected_scores.json beside the submissions

It is written from docs/host.md and shares no code with the project."""

import argparse
import csv
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.ensemble import VotingClassifier
from sklearn.svm import SVC

warnings.filterwarnings("ignore")


def table(folder, source):
    """The features as 64-bit floats, and the columns of the examples as lists of texts."""
    if isinstance(source, str):
        import pandas as pd
        import pyarrow.parquet as pq

        path = folder / source
        if path.suffix == ".parquet":
            frame = pq.read_table(path).to_pandas()  # pandas.read_parquet can abort a process that ends soon (apache/arrow#34314)
        else:
            frame = pd.read_csv(path, dtype={"id": str, "label": str})
        others = ["id", "label", "group", "cluster", "given", "truth"]
        if path.suffix == ".parquet":
            features = np.stack(frame["features"].to_numpy())
        else:
            features = frame[[name for name in frame.columns if name not in others]].to_numpy()
        return features.astype(np.float64), {name: [str(x) for x in frame[name]] for name in frame.columns if name in others}
    path = folder / source["features"]
    if path.suffix == ".npy":
        features = np.load(path)
    else:
        features = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    with open(folder / source["examples"], newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [row[name].strip() for row in rows] for name in rows[0]}
    return features.astype(np.float64), columns


def learner(spec, seed):
    spec = {"kind": spec} if isinstance(spec, str) else dict(spec)
    kind = spec.pop("kind")
    if kind == "logistic_regression":
        return LogisticRegression(**spec)
    if kind == "svc":
        return SVC(**spec)
    if kind == "soft_voting":
        svc = SVC(probability=True, random_state=seed)
        return VotingClassifier([("svm", svc), ("lr", LogisticRegression(random_state=seed))], voting="soft")
    if kind == "gradient_boosting":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=2)
    if kind == "k_nearest":
        return KNeighborsClassifier(n_neighbors=spec.get("k", 5))
    if kind == "nearest_centroid":
        return NearestCentroid()
    raise ValueError(kind)


def fit_predict(spec, x, y, rows, seed=0):
    """The class of each row, of a model fitted on the classes that are there."""
    classes = sorted(set(y))
    if len(classes) == 1:
        return np.full(len(rows), classes[0])
    kind = spec if isinstance(spec, str) else spec["kind"]
    if kind == "gradient_boosting":
        x, rows = x.astype(np.float32), rows.astype(np.float32)
    if "REVERSED" in os.environ:  # a peer asks whether the order of the training rows decides, which it does between neighbours at one distance
        x, y = x[::-1], y[::-1]
    return learner(spec, seed).fit(x, y).predict(rows)


def metric(spec, truth, predicted, n_classes, classes, groups):
    kind = spec if isinstance(spec, str) else spec["kind"]
    labels = list(range(n_classes))
    if kind == "accuracy":
        return accuracy_score(truth, predicted)
    if kind == "balanced_accuracy":
        return balanced_accuracy_score(truth, predicted)
    if kind == "macro_f1":
        return f1_score(truth, predicted, labels=labels, average="macro", zero_division=0)
    if kind == "f1":
        return f1_score(truth, predicted, labels=labels, average=None, zero_division=0)[classes.index(str(spec["class"]))]
    if kind == "worst_group_accuracy":
        groups = np.array(groups)
        return min(accuracy_score(truth[groups == g], predicted[groups == g]) for g in sorted(set(groups)))
    raise ValueError(kind)


class Contest:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.document = yaml.safe_load((self.folder / "task.yaml").read_text())
        self.classes = [name(x) for x in self.document["classes"]]
        self.eval_x, columns = table(self.folder, self.document["eval"])
        self.truth = self.numbers(columns["label"])
        self.groups = columns.get("group")

    def numbers(self, labels):
        return np.array([self.classes.index(label) for label in labels])

    def value(self, predicted):
        return metric(self.document["metric"], self.truth, predicted, len(self.classes), self.classes, self.groups)

    def score(self, artifact):
        return getattr(self, self.document["task"])(artifact)

    def selection(self, artifact):
        x, columns = table(self.folder, self.document["pool"])
        row_of = {id: row for row, id in enumerate(columns["id"])}
        if "labels" in artifact:
            rows = [row_of[id] for id in artifact["labels"]]
            y = self.numbers([name(label) for label in artifact["labels"].values()])
        else:
            rows = [row_of[id] for id in artifact["ids"]]
            y = self.numbers([columns["label"][row] for row in rows])
        model = self.document["model"]
        seeds = self.document.get("seeds", [0])
        return float(np.mean([self.value(fit_predict(model, x[rows], y, self.eval_x, seed)) for seed in seeds]))

    def debugging(self, artifact):
        x, columns = table(self.folder, self.document["train"])
        row_of = {id: row for row, id in enumerate(columns["id"])}
        given, truth = self.numbers(columns["given"]), self.numbers(columns["truth"])
        model = self.document["model"]
        seed = self.document.get("seeds", [0])[0]
        target = self.document.get("target_share", 0.95) * self.value(fit_predict(model, x, truth, self.eval_x, seed))
        labels, value = given.copy(), None
        for k in range(len(x) + 1):
            if k > 0:
                row = row_of[artifact["order"][k - 1]]
                if labels[row] != truth[row]:
                    labels[row], value = truth[row], None
            if value is None:
                value = self.value(fit_predict(model, x, labels, self.eval_x, seed))
            if value >= target:
                return k / len(x)
        raise AssertionError("right labels reach the target")

    def curation(self, artifact):
        rows = list(csv.DictReader(artifact.splitlines()))
        x = np.array([[float(value) for name, value in row.items() if name != "label"] for row in rows])
        y = self.numbers([row["label"] for row in rows])
        seeds = self.document.get("seeds", [0])
        return float(np.mean([self.value(fit_predict(self.document["model"], x, y, self.eval_x, seed)) for seed in seeds]))

    def acquisition(self, artifact):
        sellers = []
        for seller, source in self.document["sellers"].items():
            x, columns = table(self.folder, source)
            sellers.append((seller, x, self.numbers(columns["label"])))
        random = np.random.RandomState(self.document.get("seed", 1111))
        seed = self.document.get("seeds", [0])[0]
        values = []
        for _ in range(self.document.get("trials", 10)):
            xs, ys = [], []
            for seller, x, y in sellers:
                n = artifact["counts"].get(seller, 0)
                rows = random.choice(len(x), size=n, replace=True)
                xs.append(x[rows])
                ys.append(y[rows])
            values.append(self.value(fit_predict(self.document["model"], np.concatenate(xs), np.concatenate(ys), self.eval_x, seed)))
        return float(np.mean(values))


def read(artifact):
    """JSON, or the text of a CSV."""
    text = artifact.read_text()
    return text if artifact.suffix == ".csv" else json.loads(text)


def name(value):
    """A class as the document writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def expected(demo):
    import sklearn

    for folder in sorted(path.parent for path in Path(demo).glob("*/task.yaml")):
        contest, scored = Contest(folder), {}
        for file in sorted(folder.glob("submissions/*/*/*.*")):
            if not file.name.startswith("bad_"):
                key = "/".join(file.parts[-3:])
                scored[key] = {"score": contest.score(read(file))}
        made_by = {"call": "python shared/benchmarks/own_data/recipe/reference.py expected demo", "scikit-learn": sklearn.__version__, "numpy": np.__version__}
        (folder / "expected_scores.json").write_text(json.dumps({"made_by": made_by, "scored": scored}, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("score")
    one.add_argument("folder")
    one.add_argument("artifact")
    commands.add_parser("expected").add_argument("demo")
    args = parser.parse_args()
    if args.command == "score":
        print(Contest(args.folder).score(read(Path(args.artifact))))
    else:
        expected(args.demo)
    sys.exit(0)
