"""Submissions to the demo's six leaderboards: legal ones, and files that break a rule.

The submitters are invented; their methods and scores are real. Files called bad_* must be refused.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import choose
from choose import Pool
from words import Language

# leaderboard size -> clips to choose: nontargets, then each of the five keywords
BALANCED = {25: [5] + [4] * 5, 60: [10] + [10] * 5}
MOSTLY_NONTARGET = {25: [15] + [2] * 5, 60: [35] + [5] * 5}

Content = dict  # the JSON object of a submission


def good(pool: Pool, size: int, rng: np.random.Generator) -> dict[str, str]:
    """Legal files: `SUBMITTER/FILE` -> text."""
    balanced = BALANCED[size]
    chosen = {
        "coin-flip/random.json": choose.random(pool, balanced, rng),
        "coin-flip/random_again.json": choose.random(pool, balanced, rng),
        "harbour-speech/farthest_point.json": choose.farthest_point(pool, balanced),
        "mostly-no/mostly_nontarget.json": choose.most_typical(pool, MOSTLY_NONTARGET[size]),
        "plain-and-simple/most_typical.json": choose.most_typical(pool, balanced),
        "second-listen/cross_validated.json": choose.cross_validated(pool, balanced),
    }
    return {name: as_json(pool.submission(rows)) for name, rows in chosen.items()}


def keyword(content: Content, position: int) -> list[str]:
    """The clips listed for the keyword at `position`."""
    return list(content["targets"].values())[position]


def unknown_id(content: Content, _pool: Pool) -> None:
    """A clip that the pool does not have."""
    keyword(content, 0)[0] = keyword(content, 0)[0].rsplit("_", 1)[0] + "_99999.wav"


def duplicate(content: Content, _pool: Pool) -> None:
    """A clip listed twice."""
    keyword(content, 1)[1] = keyword(content, 1)[0]


def id_of_another_word(content: Content, pool: Pool) -> None:
    """A clip of one keyword listed under another."""
    chosen = keyword(content, 1)
    keyword(content, 2)[0] = next(pool.ids[row] for row in pool.rows(2) if pool.ids[row] not in chosen)


def too_many(content: Content, pool: Pool) -> None:
    """One clip over the leaderboard's limit."""
    chosen = content["nontargets"]
    chosen.append(next(pool.ids[row] for row in pool.rows(0) if pool.ids[row] not in chosen))


def no_nontargets(content: Content, _pool: Pool) -> None:
    """Keywords only."""
    del content["nontargets"]


BAD: dict[str, dict[str, list[Callable[[Content, Pool], None]]]] = {
    "en-25": {"hasty/bad_unknown_id.json": [unknown_id]},
    "en-60": {
        "hasty/bad_duplicate.json": [duplicate],
        "hasty/bad_several_reasons.json": [unknown_id, duplicate, id_of_another_word, too_many],
    },
    "pt-25": {"mostly-no/bad_too_many.json": [too_many]},
    "pt-60": {"harbour-speech/bad_truncated.json": []},
    "id-25": {"hasty/bad_no_nontargets.json": [no_nontargets]},
    "id-60": {"coin-flip/bad_id_of_another_word.json": [id_of_another_word]},
}


def bad(pool: Pool, board: str, size: int, rng: np.random.Generator) -> dict[str, str]:
    """Illegal files, each a legal one with something broken: `SUBMITTER/FILE` -> text."""
    texts = {}
    for name, changes in BAD[board].items():
        content = pool.submission(choose.random(pool, BALANCED[size], rng))
        for change in changes:
            change(content, pool)
        text = as_json(content)
        texts[name] = text[: len(text) * 2 // 3] if name.endswith("bad_truncated.json") else text
    return texts


def as_json(content: Content) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_submissions(root: Path, language: Language, ids: list[str], vectors: np.ndarray, seed: int) -> None:
    """Write `root/LEADERBOARD/SUBMITTER/FILE.json` for both leaderboards of a language."""
    pool = Pool(language, ids, vectors)
    for size in BALANCED:
        board = f"{language.code}-{size}"
        rng = np.random.default_rng([seed, size, *language.code.encode()])
        for name, text in (good(pool, size, rng) | bad(pool, board, size, rng)).items():
            path = root / board / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
