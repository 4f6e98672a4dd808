#!/usr/bin/env python3
"""Score the legal submissions of the digits' two demos with scikit-learn, for tests to compare with.

    reference_selection.py vision|acquisition DEMO > DEMO/expected_scores.json

Files called bad_* are left out: this script knows the models and the metrics, not the rules.
"""

import argparse
import csv
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import scipy
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

SEED, N_TRIALS = 1111, 10


def files(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name.rsplit(".", 1)[0]: archive.read(name).decode() for name in archive.namelist()}


def vectors(path: Path) -> tuple[list[str], np.ndarray, list[str]]:
    table = pq.read_table(path)
    truth = table["Confidence"].to_pylist() if "Confidence" in table.column_names else []
    return table["ImageID"].to_pylist(), np.array(table["embedding"].to_pylist()), truth


def vision(demo: Path, path: Path) -> dict:
    if path.suffix == ".zip":
        rows = {c: csv.DictReader(io.StringIO(text)) for c, text in files(path).items()}
        labels = {c: {row["ImageID"]: row["Confidence"] for row in of} for c, of in rows.items()}
    else:
        labels = {c: {i: str(v) for i, v in of.items()} for c, of in json.loads(path.read_text()).items()}
    ids, pool, _ = vectors(next((demo / "embeddings").glob("*.parquet")))
    row_of, concepts = {image: row for row, image in enumerate(ids)}, {}
    for concept, of in labels.items():
        _, x, truth = vectors(next((demo / "test_sets").glob(f"alpha_test_set_{concept}_*.parquet")))
        model = LogisticRegression(random_state=0).fit(pool[[row_of[image] for image in of]], list(of.values()))
        guess = model.predict(x)
        metrics = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
        concepts[concept] = {name: float(metric(truth, guess, pos_label="1")) for name, metric in metrics.items()}
        concepts[concept]["accuracy"] = float(accuracy_score(truth, guess))
    return {"score": float(np.mean([of["f1"] for of in concepts.values()])), "concepts": concepts}


def acquisition(demo: Path, path: Path) -> dict:
    if path.suffix == ".zip":
        plan = {m: [int(count) for count in text.split(",")] for m, text in files(path).items()}
    else:
        plan = json.loads(path.read_text())
    markets = {}
    for market, counts in plan.items():
        sellers = [np.loadtxt(demo / f"features/{market}/{k}.csv", delimiter=",") for k in range(len(counts))]
        buyer = np.loadtxt(next((demo / f"marketinfo/{market}/data_buyer").glob("*.csv")), delimiter=",")
        lines = (demo / f"marketinfo/{market}/price/price.txt").read_text().split()
        cost = sum(float(line.split(",")[1]) * n / len(rows) for line, n, rows in zip(lines, counts, sellers))
        generator, per_trial = np.random.RandomState(SEED), []
        for _ in range(N_TRIALS):
            drawn = [rows[generator.choice(len(rows), size=n, replace=True)] for rows, n in zip(sellers, counts)]
            x = np.concatenate(drawn)
            model = LogisticRegression(random_state=0).fit(x[:, :-1], x[:, -1])
            per_trial.append(float(model.score(buyer[:, :-1], buyer[:, -1])))
        markets[market] = {"accuracy": float(np.mean(per_trial)), "per_trial": per_trial, "cost": cost}
    return {"score": float(np.mean([of["accuracy"] for of in markets.values()])), "markets": markets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=["vision", "acquisition"])
    parser.add_argument("demo", type=Path)
    arguments = parser.parse_args()
    score = {"vision": vision, "acquisition": acquisition}[arguments.benchmark]
    scored, refused = {}, []
    for path in sorted((arguments.demo / "submissions").glob("*/*/*")):
        key = path.relative_to(arguments.demo / "submissions").as_posix()
        if path.name.startswith("bad_"):
            refused.append(key)
        else:
            scored[key] = score(arguments.demo, path)
    made_by = {
        "call": f"python shared/benchmarks/recipe/reference_selection.py {arguments.benchmark} DEMO",
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    print(json.dumps({"made_by": made_by, "scored": scored, "refused": refused}, indent=1))


if __name__ == "__main__":
    main()
