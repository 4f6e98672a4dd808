#!/usr/bin/env python3
"""Make the demo data of Selection for Speech: spoken words, not random numbers.

    make.py OUT [--seed N]

Writes OUT/dataperf_{en,pt,id}_data in the public challenge's layout, OUT/clips.csv (how every
clip was made) and OUT/submissions/LEADERBOARD/SUBMITTER/FILE.json. The same seed and the same
versions (README.md) give the same bytes.
"""

import argparse
import csv
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import sound
from submissions import write_submissions
from words import DEFECTS, LANGUAGES, VARIANTS, Language

ESPEAK_NG = "1.51"


@dataclass(frozen=True)
class Clip:
    """How one clip is made."""

    clip_id: str
    split: str  # train or eval
    spoken: str  # differs from the word it is filed under when the defect is wrong_word
    defect: str
    neighbour: str
    voice: str
    words_per_minute: int
    pitch: int
    snr_db: float

    @property
    def word(self) -> str:
        return self.clip_id.split("/")[0]


def plan(language: Language) -> list[tuple[str, str, int]]:
    """(split, word, number of clips) in the order in which clips are numbered."""
    n = language.n_per_nontarget
    return [
        *(("train", word, n_clips) for word, n_clips in language.n_train.items()),
        *(("eval", word, n_clips) for word, n_clips in language.n_eval.items()),
        *(("train", word, n) for word in language.known),
        *(("eval", word, n) for word in sorted(language.known + language.unknown)),
    ]


def draw(language: Language, split: str, word: str, serial: int, rng: np.random.Generator) -> Clip:
    """Choose voice, manner and defect of one clip."""
    # Keywords of the test set were verified by listening, so they alone have no defect.
    verified = split == "eval" and word in language.n_eval
    defect = "none" if verified else str(rng.choice(list(DEFECTS), p=list(DEFECTS.values())))
    spoken = word
    if defect == "wrong_word":
        # A clip filed under a nontarget word never says a keyword: the test set's labels must hold.
        pool = language.known + (tuple(language.n_train) if word in language.n_train else ())
        spoken = str(rng.choice([w for w in pool if w != word]))
    return Clip(
        clip_id=f"{word}/espeak_{language.code}_{serial:05d}.wav",
        split=split,
        spoken=spoken,
        defect=defect,
        neighbour=str(rng.choice(language.neighbours)) if defect.startswith("neighbour") else "",
        voice=f"{rng.choice(language.voices)}+{rng.choice(VARIANTS)}",
        words_per_minute=int(rng.integers(110, 221)),
        pitch=int(rng.integers(10, 91)),
        snr_db=round(float(rng.uniform(10, 30) if verified else rng.uniform(3, 30)), 1),
    )


def make(language: Language, seed: int) -> tuple[list[Clip], np.ndarray]:
    """All clips of a language and their features, `(n_clips, 1024)`."""
    numbered = [(split, word) for split, word, n in plan(language) for _ in range(n)]

    def one(serial: int) -> tuple[Clip, np.ndarray]:
        split, word = numbered[serial]
        # A generator of its own for each clip: the order of work cannot change it.
        rng = np.random.default_rng([seed, LANGUAGES.index(language), serial])
        clip = draw(language, split, word, serial, rng)
        speech, speed = sound.clip_of(
            clip.spoken, clip.defect, clip.neighbour, clip.voice, clip.words_per_minute, clip.pitch, rng
        )
        clip = replace(clip, words_per_minute=speed)
        return clip, sound.log_mel(sound.record(speech, clip.snr_db, rng))

    with ThreadPoolExecutor() as pool:
        clips, log_mels = zip(*pool.map(one, range(len(numbered))), strict=True)
    is_train = np.array([clip.split == "train" for clip in clips])
    return list(clips), sound.standardised(np.stack(log_mels), is_train)


def write_table(path: Path, ids: list[str], matrix: np.ndarray) -> None:
    """One row per clip: its id and its vector as list<float>."""
    n_rows, width = matrix.shape
    offsets = pa.array(np.arange(0, (n_rows + 1) * width, width, dtype=np.int32))
    vectors = pa.ListArray.from_arrays(offsets, pa.array(matrix.ravel()))
    table = pa.table({"clip_id": pa.array(ids), "mswc_embedding_vector": vectors})
    path.parent.mkdir(parents=True, exist_ok=True)
    smallest = {"compression": "zstd", "compression_level": 19, "write_statistics": False, "store_schema": False}
    pq.write_table(table, path, **smallest)


def write_language(root: Path, language: Language, clips: list[Clip], vectors: np.ndarray) -> None:
    """Tables and id lists of one language in the public layout."""
    for split, name in (("train", "allowed_training_set.yaml"), ("eval", "eval.yaml")):
        listed = {"targets": {word: [] for word in language.n_train}, "nontargets": []}
        rows_of: dict[str, list[int]] = {}
        for row, clip in enumerate(clips):
            if clip.split == split:
                rows_of.setdefault(clip.word, []).append(row)
        for word, rows in rows_of.items():
            ids = [clips[row].clip_id for row in rows]
            write_table(root / f"{split}_embeddings" / f"{word}.parquet", ids, vectors[rows])
            listed["targets"].get(word, listed["nontargets"]).extend(ids)
        (root / name).write_text(yaml.dump(listed, default_flow_style=None, sort_keys=False), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    version = subprocess.run(["espeak-ng", "--version"], check=True, capture_output=True, text=True).stdout
    if f" {ESPEAK_NG} " not in version:
        print(f"not espeak-ng {ESPEAK_NG}, so the sound may differ: {version.strip()}", file=sys.stderr)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with (arguments.out / "clips.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Clip))
        for language in LANGUAGES:
            clips, vectors = make(language, arguments.seed)
            writer.writerows(astuple(clip) for clip in clips)
            write_language(arguments.out / f"dataperf_{language.code}_data", language, clips, vectors)
            print(f"{language.code}: {len(clips)} clips, {len({clip.word for clip in clips})} words")
            pool = [row for row, clip in enumerate(clips) if clip.split == "train"]
            ids = [clips[row].clip_id for row in pool]
            write_submissions(arguments.out / "submissions", language, ids, vectors[pool], arguments.seed)


if __name__ == "__main__":
    main()
