#!/usr/bin/env python3
"""Vectors for texts: the rows of scikit-learn 1.2.2's HashingVectorizer and what its LogisticRegression predicts of them.

    make_text_vectors.py > fixtures/text.json
    make_text_vectors.py --words    # the table of src/text/characters.rs
"""

import json
import re
import sys

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

TEXTS = [
    "",
    "a",
    "A dog doesn't sleep; the dog barks!",
    "snake_case _x __ a_ 1 22 x2",
    "ÉCOLE Straße ΣΊΣΥΦΟΣ İstanbul ǅ",
    "नमस्ते दुनिया ஸ்ரீ ก็",
    "日本語のテキスト 漢字 ㊗ Ⓐ ² ½ Ⅷ",
    "zero\u200bwidth soft\u00adhyphen no\u00a0break next\u0085line unit\u001fseparator",
    "😀😀 ok 👩‍👩‍👧 e\u0301 i\u0307",
    "tabs\t\tand\n\nlines  and   spaces ",
    "x y z",
    "ab abc abcd abcde abcdef",
    "same same same different same",
]
SETTINGS = [
    ("word", 1, 1, 1 << 18),
    ("word", 1, 2, 1 << 10),
    ("word", 2, 3, 1000),
    ("char_wb", 1, 1, 97),
    ("char_wb", 2, 4, 1 << 16),
    ("char_wb", 3, 5, 7),
    ("word", 1, 3, 1),
]


def words_table() -> None:
    ranges, word = [], re.compile(r"\w")
    for code in range(0x110000):
        if not 0xD800 <= code <= 0xDFFF and word.match(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    line = "   "
    for first, last in ranges:
        item = f" (0x{first:x}, 0x{last:x}),"
        if len(line) + len(item) > 110:
            print(line)
            line = "   "
        line += item
    print(line)


def rows(analyzer: str, least: int, most: int, n_features: int, lowercase: bool) -> dict:
    vectorizer = HashingVectorizer(n_features=n_features, analyzer=analyzer, ngram_range=(least, most), lowercase=lowercase)
    matrix = vectorizer.transform(TEXTS)
    made = [
        list(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist())) for a, b in zip(matrix.indptr, matrix.indptr[1:])
    ]
    return {"analyzer": analyzer, "lengths": [least, most], "n_features": n_features, "lowercase": lowercase, "rows": made}


def sentences(rng: np.random.Generator, n: int, n_classes: int) -> tuple[list[str], list[int]]:
    words = [f"w{k}" for k in range(30)]
    labels = rng.integers(0, n_classes, n)
    texts = [
        " ".join(rng.choice(words[label * 4 :], rng.integers(2, 9)).tolist() + (["not"] if rng.random() < 0.3 else []))
        for label in labels
    ]
    return texts, labels.tolist()


def regression(seed: int, n_classes: int, analyzer: str, c: float) -> dict:
    rng = np.random.default_rng(seed)
    train, labels = sentences(rng, 80, n_classes)
    texts, _ = sentences(rng, 40, n_classes)
    vectorizer = HashingVectorizer(n_features=512, analyzer=analyzer, ngram_range=(1, 2))
    model = LogisticRegression(C=c).fit(vectorizer.transform(train), labels)
    x = vectorizer.transform(texts)
    return {
        "analyzer": analyzer,
        "C": c,
        "train": train,
        "labels": labels,
        "texts": texts,
        "predicted": model.predict(x).tolist(),
        "probabilities": model.predict_proba(x).round(12).tolist(),
        "n_iter": int(model.n_iter_[0]),
    }


def main() -> None:
    if "--words" in sys.argv:
        words_table()
        return
    vectors = {
        "texts": TEXTS,
        "rows": [rows(*settings, lowercase=True) for settings in SETTINGS] + [rows("word", 1, 2, 64, lowercase=False)],
        "regressions": [regression(1, 2, "word", 1.0), regression(2, 3, "char_wb", 10.0), regression(3, 4, "word", 0.1)],
    }
    print(json.dumps(vectors))


if __name__ == "__main__":
    main()
