"""Scores the demo's submissions to `adversarial-text-models` without a line of the project's Rust.

Usage: reference.py FROZEN SUBMISSIONS > expected_scores.json

FROZEN is what `dataperf dataset import` makes of demo/adversarial-text-models. Which words stand for other people is read from the source of
the changes; that these are in the inputs is not computed again, since programs are asked what stands there.
"""

import json
import re
import string
import struct
import sys
from collections import Counter
from pathlib import Path

LABELS = {
    "nli": ["entailment", "neutral", "contradiction"],
    "qa": [],
    "sentiment": ["positive", "neutral", "negative"],
    "hate-speech": ["hateful", "not-hateful"],
}
NONE = 2**32 - 1
PERTURB = Path(__file__).resolve().parents[3] / "text/src/compare/perturb.rs"
PAIRS = re.findall(r'\("(\w+)", "(\w+)"\),', PERTURB.read_text(encoding="utf-8"))
OTHERS = dict(PAIRS) | {other: one for one, other in PAIRS}


def with_others(text):
    def exchanged(match):
        word = match.group()
        other = OTHERS.get(word.lower()) if word[1:] == word[1:].lower() else None
        return word if other is None else other[0].upper() + other[1:] if word[0].isupper() else other

    return re.sub(r"[^\W\d_]+", exchanged, text)


def normalised(text):
    """As evaluate-v1.1.py of SQuAD does."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(answer, right):
    answer, right = normalised(answer).split(), normalised(right).split()
    n_common = sum((Counter(answer) & Counter(right)).values())
    if n_common == 0:
        return 0.0
    precision, recall = n_common / len(answer), n_common / len(right)
    return 2 * precision * recall / (precision + recall)


def items(path):
    """The rows of the one tensor of a safetensors file."""
    data = path.read_bytes()
    (n_header,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n_header])["items"]
    begin, end = header["data_offsets"]
    numbers = struct.unpack(f"<{(end - begin) // 4}I", data[8 + n_header + begin : 8 + n_header + end])
    return [numbers[at : at + 6] for at in range(0, len(numbers), 6)]


def same(one, other, is_span):
    return normalised(one["text"]) == normalised(other["text"]) if is_span else one["label"] == other["label"]


def score(frozen, inputs, parameters, artifact):
    answers, measured = artifact["answers"], artifact["measured"]
    shares, robust, fair = [], [], []
    for name in parameters["rounds"]:
        right = []
        for plain, misspelt, exchanged, label, start, n_chars in items(frozen / f"rounds/{name}.safetensors"):
            line, said = inputs[plain], answers[str(plain)]
            is_span = line["task"] == "qa"
            if is_span:
                right.append(f1(said["text"], line["context"][start : start + n_chars]) >= 0.4)
            else:
                right.append(said["label"] == LABELS[line["task"]][label])
            if misspelt != NONE:
                robust.append(same(said, answers[str(misspelt)], is_span))
            if exchanged != NONE:
                of_others = {"text": with_others(said["text"])} if is_span else said
                fair.append(same(of_others, answers[str(exchanged)], is_span))
        shares.append(100 * sum(right) / len(right))
    rates = parameters["rates"]
    fuel, memory = measured["fuel"] / 1e6 / len(inputs), measured["memory_bytes"] / 2**20
    return (
        sum(shares) / len(shares)
        - min(100, fuel / rates["fuel"])
        - min(100, memory / rates["memory"])
        + 100 * sum(robust) / len(robust) / rates["robustness"]
        + 100 * sum(fair) / len(fair) / rates["fairness"]
    ) / 100


def main():
    frozen, submissions = map(Path, sys.argv[1:])
    parameters = json.loads((frozen / "manifest.json").read_text(encoding="utf-8"))["parameters"]
    inputs = [json.loads(line) for line in (frozen / "public/inputs.jsonl").read_text(encoding="utf-8").splitlines()]
    files = sorted(path for path in submissions.rglob("*.json"))
    scored = {
        path.relative_to(submissions).as_posix(): {"score": score(frozen, inputs, parameters, json.loads(path.read_text(encoding="utf-8")))}
        for path in files
        if not path.name.startswith("bad_")
    }
    refused = [path.relative_to(submissions).as_posix() for path in files if path.name.startswith("bad_")]
    call = "python shared/benchmarks/adversarial_text_models/recipe/reference.py frozen demo/adversarial-text-models/submissions"
    json.dump({"made_by": {"call": call}, "scored": scored, "refused": refused}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
