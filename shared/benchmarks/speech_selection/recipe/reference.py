#!/usr/bin/env python3
"""Score the demo's legal submissions with scikit-learn, for tests to compare with.

    reference.py DEMO > DEMO/expected_scores.json

DEMO holds dataperf_{en,pt,id}_data and submissions/. Files called bad_* are left out: this
script knows the model and the metric, not the rules.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import scipy
import sklearn
import yaml
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.svm import SVC

SEEDS = (5, 69, 98, 70, 95, 64, 37, 11, 4, 32)  # the benchmark's ten


class Split:
    """The training or the eval side of one language."""

    def __init__(self, folder: Path):
        self.tables = {}
        for path in sorted(folder.glob("*.parquet")):
            table = pq.read_table(path)
            width = len(table["mswc_embedding_vector"][0])
            flat = table["mswc_embedding_vector"].combine_chunks().flatten().to_numpy()
            self.tables[path.stem] = (table["clip_id"].to_pylist(), flat.reshape(-1, width))

    def rows(self, listed: dict, classes: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Vectors and class numbers in the benchmark's row order, which the last digit depends on.

        Keywords as listed, a keyword's clips in the table's order; then nontargets, words in the
        order they first appear, clips as listed.
        """
        x, y = [], []
        for word, wanted in listed["targets"].items():
            ids, matrix = self.tables[word]
            members = [k for k, clip_id in enumerate(ids) if clip_id in set(wanted)]
            x.append(matrix[members])
            y += [classes.index(word) + 1] * len(members)
        by_word: dict[str, list[str]] = {}
        for clip_id in listed["nontargets"]:
            by_word.setdefault(clip_id.split("/")[0], []).append(clip_id)
        for word, clips in by_word.items():
            ids, matrix = self.tables[word]
            x.append(matrix[[ids.index(clip_id) for clip_id in clips]])
            y += [0] * len(clips)
        return np.concatenate(x), np.array(y)


def macro_f1(seed: int, x: np.ndarray, y: np.ndarray, eval_x: np.ndarray, eval_y: np.ndarray) -> float:
    voters = [("svm", SVC(probability=True, random_state=seed)), ("lr", LogisticRegression(random_state=seed))]
    predicted = VotingClassifier(voters, voting="soft").fit(x, y).predict(eval_x)
    return float(f1_score(eval_y, predicted, average="macro"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path)
    demo = parser.parse_args().demo
    scored, refused = {}, []
    for root in sorted(demo.glob("dataperf_*_data")):
        language = root.name.split("_")[1]
        held_out = yaml.safe_load((root / "eval.yaml").read_text(encoding="utf-8"))
        classes = sorted(held_out["targets"])
        pool = Split(root / "train_embeddings")
        eval_x, eval_y = Split(root / "eval_embeddings").rows(held_out, classes)
        for path in sorted(demo.glob(f"submissions/{language}-*/*/*.json")):
            key = path.relative_to(demo / "submissions").as_posix()
            if path.name.startswith("bad_"):
                refused.append(key)
                continue
            x, y = pool.rows(json.loads(path.read_text(encoding="utf-8")), classes)
            per_seed = [macro_f1(seed, x, y, eval_x, eval_y) for seed in SEEDS]
            scored[key] = {"score": float(np.mean(per_seed)), "per_seed": per_seed}
    made_by = {
        "call": "python shared/benchmarks/speech_selection/recipe/reference.py demo/speech-selection",
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "seeds": SEEDS,
    }
    print(json.dumps({"made_by": made_by, "scored": scored, "refused": refused}, indent=1))


if __name__ == "__main__":
    main()
