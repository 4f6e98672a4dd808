#!/usr/bin/env python3
"""Dynabench's score of 1,000 random boards, with its own steps written down on pandas once more.

    make_boards.py > scores.json

What is computed is `dynascore` of facebookresearch/dynabench, `api/models/score.py`, at commit 0a80494d8db464cf276fd7ea3dff0b114b61f2d7.
The boards are made by a generator that the test has, too, so that only scores are kept; a score that is no finite number is null.
"""

import json
import math

import pandas as pd

MEASURES = ["perf", "compute", "memory", "robustness", "fairness"]
DIRECTIONS = [1, -1, -1, 1, 1]
OFFSETS = [0, 1000, 16, 0, 0]
WEIGHTS = [4, 1, 1, 1, 1]
RANGES = [(30, 95), (1, 900), (0, 16), (50, 100), (50, 100)]
MASK = (1 << 64) - 1


def boards():
    state = 2021
    for nth in range(1000):
        n_models = 1 + nth % 9
        rows = []
        for _ in range(n_models):
            row = []
            for low, high in RANGES:
                state = (state * 6364136223846793005 + 1442695040888963407) & MASK
                row.append(low + (high - low) * ((state >> 11) / (1 << 53)))
            if nth % 10 == 0:
                row[2] = 8.0  # a figure that is equal for all
            rows.append(row)
        yield rows


def scores(rows: list[list[float]]) -> list[float]:
    frame = pd.DataFrame(rows, columns=MEASURES).sort_values("perf")
    frame = frame * DIRECTIONS + OFFSETS
    steps = frame.diff()
    counts = steps["perf"].abs() > frame["perf"].max() * 0.0001  # the first has no step, and no number is not greater
    score = 0
    for measure, weight in zip(MEASURES, WEIGHTS):
        rate = (steps[measure][counts].abs() / steps["perf"][counts]).mean(skipna=True)
        score = score + frame[measure] / abs(rate) * (weight / sum(WEIGHTS))
    return score.reindex(range(len(rows))).tolist()


print(json.dumps([[s if math.isfinite(s) else None for s in scores(rows)] for rows in boards()]))
