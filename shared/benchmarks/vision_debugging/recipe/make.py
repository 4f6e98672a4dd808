#!/usr/bin/env python3
"""Make the demo data of Debugging for Vision: tell two handwritten digits apart, with wrong labels in the training set.

    make.py OUT [--seed N]

Writes the public challenge's layout (OUT/embeddings, OUT/data) and OUT/submissions/open/SUBMITTER/FILE. The same seed
and versions give the same bytes.

An embedding is 2,048 numbers, as many as the challenge's: one random layer with rectifiers over the 64 pixels, rounded
to multiples of 1/4, which keeps the files small and gives the trees ties to break.
"""

import argparse
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recipe"))
import digits as source  # noqa: E402, what three recipes share

# a task's digits; flipped tasks have 30 % of the labels flipped, the others labelled by a poor machine
TASKS = {"1-7-flipped": (1, 7), "2-3-flipped": (2, 3), "3-8": (3, 8), "4-9": (4, 9)}
N_TRAIN, N_TEST, N_VALIDATION, WIDTH = 200, 120, 30, 2048
WRONG = 0.3
Orders = dict[str, list[int]]


class Task:
    def __init__(self, everything: source.Digits, name: str, layer: np.ndarray, rng: np.random.Generator):
        self.name = name
        one, two = TASKS[name]
        rows = rng.permutation(np.flatnonzero((everything.digits == one) | (everything.digits == two)))
        self.truth = (everything.digits[rows] == two).astype(np.int64)
        self.ids = everything.ids[rows]
        pixels = everything.vectors[rows].astype(np.float64)
        self.vectors = (np.round(np.maximum(pixels @ layer - 0.5, 0) * 4) / 4).astype(np.float32)
        self.labels = self.truth.copy()
        suspects = rng.choice(N_TRAIN, int(WRONG * N_TRAIN), replace=False)
        if name.endswith("flipped"):
            self.labels[suspects] = 1 - self.labels[suspects]
        else:
            # a machine that has seen three images of each digit, and of those a few pixels
            seen = rng.choice(64, 6, replace=False)
            shown = [np.flatnonzero(self.truth[:N_TRAIN] == label)[:3] for label in (0, 1)]
            centres = np.array([pixels[of_label][:, seen].mean(axis=0) for of_label in shown])
            distances = np.linalg.norm(pixels[suspects][:, None, seen] - centres[None], axis=2)
            self.labels[suspects] = distances.argmin(axis=1)

    def write(self, out: Path) -> None:
        ends = np.cumsum([0, N_TRAIN, N_TEST, N_VALIDATION])
        names = (f"train_{WRONG}_{N_TRAIN}", f"test_{N_TEST}", f"val_{N_VALIDATION}")
        for name, begin, end in zip(names, ends, ends[1:]):
            vectors = pa.array(self.vectors[begin:end].tolist(), pa.list_(pa.float32()))
            columns = {"filename": self.ids[begin:end].tolist(), "encoding": vectors, "label": self.labels[begin:end]}
            path = out / f"embeddings/{self.name}_{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19)
        lines = [f"{i},{label}\n" for i, label in sorted(zip(self.ids[:N_TRAIN], self.truth[:N_TRAIN]))]
        path = out / f"data/dataset_{self.name}_train.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("ImageID,hv_label\n" + "".join(lines))

    def with_hindsight(self) -> list[int]:
        """The wrong labels first: what nobody can know."""
        wrong = self.labels[:N_TRAIN] != self.truth[:N_TRAIN]
        return [*np.flatnonzero(wrong), *np.flatnonzero(~wrong)]

    def by_neighbours(self, n: int) -> list[int]:
        """First the images that most of their neighbours contradict."""
        x, y = self.vectors[:N_TRAIN].astype(np.float64), self.labels[:N_TRAIN]
        squares = (x**2).sum(axis=1)
        distances = squares[:, None] + squares[None] - 2 * x @ x.T
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :n]
        return [int(i) for i in np.argsort(-(y[nearest] != y[:, None]).mean(axis=1), kind="stable")]


def zipped(orders: Orders, seconds: float) -> bytes:
    """The text form: a file a task, and one with the time the method took."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for task, order in orders.items():
            # a fixed time, so that the same orders give the same bytes
            for name, text in ((f"{task}_demo.txt", "".join(f"{i}\n" for i in order)), (f"time_{task}_demo.txt", f"{seconds}\n")):
                archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text)
    return packed.getvalue()


def broken(orders: Orders) -> dict[str, Orders]:
    """Files that break a rule, by name."""
    first, second, third, fourth = orders
    good = orders[first]
    several = {first: [good[0], *good], second: [-1, 200, 1.5], third: orders[third][:-1], "7-8": good}
    return {
        "hasty/bad_one_index.json": {task: order[:1] for task, order in orders.items()},
        "hasty/bad_duplicate.json": {**orders, first: [good[1], *good[1:]]},
        "hasty/bad_out_of_range.json": {**orders, first: [N_TRAIN if i == 0 else i for i in good]},
        "hasty/bad_missing_task.json": {task: order for task, order in orders.items() if task != fourth},
        "hasty/bad_several_reasons.json": several,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    out, rng = arguments.out, np.random.default_rng(arguments.seed)
    everything = source.load()
    layer = rng.normal(size=(64, WIDTH)) / 8
    tasks = [Task(everything, name, layer, rng) for name in TASKS]
    for task in tasks:
        task.write(out)
    random = {task.name: [int(i) for i in rng.permutation(N_TRAIN)] for task in tasks}
    files: dict[str, Orders | bytes] = {
        "coin-flip/random.json": random,
        "first-come/consecutive.zip": zipped({task.name: list(range(N_TRAIN)) for task in tasks}, 0.0),
        "ask-around/neighbours_5.zip": zipped({task.name: task.by_neighbours(5) for task in tasks}, 0.25),
        "ask-around/neighbours_15.json": {task.name: task.by_neighbours(15) for task in tasks},
        "hindsight/perfect.json": {task.name: [int(i) for i in task.with_hindsight()] for task in tasks},
        **broken(random),
        "hasty/bad_truncated.zip": zipped(random, 1.0)[:-30],
    }
    for name, content in files.items():
        path = out / "submissions/open" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (json.dumps(content) + "\n").encode())


if __name__ == "__main__":
    main()
